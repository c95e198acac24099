// SPDX-License-Identifier: MIT
//
// Executable: what a program's file tells about whether a library can be preloaded into it.
//
// Errors:  a file that can not be read, or is of no known kind, tells nothing.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::cli {

/// "" if preloading works as far as the file tells, else the reason why not. Of a script, its interpreter's.
std::string why_not_preloaded(const std::filesystem::path &program);

} // namespace cairn::cli
