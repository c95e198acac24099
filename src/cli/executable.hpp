// SPDX-License-Identifier: MIT
//
// Executable: whether a library can be preloaded into a program, and whether a file is a library that can be preloaded,
// as far as the files show.
//
// Errors:  a program that cannot be read, or is of an unknown kind, counts as one into which a library can be
//          preloaded.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::cli {

/// Why no library can be preloaded into the program; "" if the file shows no reason. For a script: that of its
/// interpreter.
std::string why_not_preloaded(const std::filesystem::path &program);

/// Whether the file is a shared library, for any processor. The loader ignores a preloaded file that is none.
bool is_library(const std::filesystem::path &file);

} // namespace cairn::cli
