// SPDX-License-Identifier: MIT
//
// Executable: what a program's file tells about whether a library can be preloaded into it, and a library's whether it can.
//
// Errors:  a program that can not be read, or is of no known kind, tells nothing.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::cli {

/// "" if preloading works as far as the file tells, else the reason why not. Of a script, its interpreter's.
std::string why_not_preloaded(const std::filesystem::path &program);

/// Whether the file is one, of whatever kind of processor. The loader starts a program without what is none.
bool is_library(const std::filesystem::path &file);

} // namespace cairn::cli
