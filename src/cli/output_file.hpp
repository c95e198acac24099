// SPDX-License-Identifier: MIT
//
// Output files: written under a temporary name in the same folder and renamed when complete. If the name is a symbolic
// link, its target is replaced.
#pragma once

#include <exception>
#include <filesystem>
#include <string>

namespace cairn::cli {

/// What is said to the user: where the file system refuses something, the name and the reason.
std::string text_of(const std::exception &why);

/// The file to write for `path`, which may be a symbolic link. Throws std::runtime_error if links form a loop.
std::filesystem::path output_place(const std::filesystem::path &path);

/// Throws std::runtime_error, one line, if no file can be written there; called before minutes of work, not after.
/// Something that is not a regular file, such as a device, is refused: the rename would replace it. `input`: the file
/// that is read to make the output, if there is one.
void check_output(const std::filesystem::path &path, const std::filesystem::path &input = {});

/// Writes the file. Throws std::runtime_error, and a former file is then unchanged.
void write_output(const std::filesystem::path &path, const std::string &text);

} // namespace cairn::cli
