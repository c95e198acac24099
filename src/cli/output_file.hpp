// SPDX-License-Identifier: MIT
//
// Output files: made aside under FILE.partial, so that what has the name is whole.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::cli {

/// Before minutes of work, not after: throws std::runtime_error, one line, if no file can be put there. What is there and no
/// regular file, such as a device, would be replaced by one. `input`: what is read to make it, if that is a file.
void check_output(const std::filesystem::path &path, const std::filesystem::path &input = {});

/// Throws std::runtime_error, and leaves what was there.
void write_output(const std::filesystem::path &path, const std::string &text);

} // namespace cairn::cli
