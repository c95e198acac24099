// SPDX-License-Identifier: MIT
//
// Output files: made aside in the folder where they are to be, so that what has the name is whole. A symbolic link stays, and
// the file that it names is made.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::cli {

/// The file that is made for `path`, which may be a symbolic link. Throws std::runtime_error where links go in a circle.
std::filesystem::path output_place(const std::filesystem::path &path);

/// Before minutes of work, not after: throws std::runtime_error, one line, if no file can be put there. What is there and no
/// regular file, such as a device, would be replaced by one. `input`: what is read to make it, if that is a file.
void check_output(const std::filesystem::path &path, const std::filesystem::path &input = {});

/// Throws std::runtime_error, and leaves what was there.
void write_output(const std::filesystem::path &path, const std::string &text);

} // namespace cairn::cli
