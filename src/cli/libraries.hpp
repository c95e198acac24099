// SPDX-License-Identifier: MIT
//
// Libraries: where those that can be preloaded are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cairn::cli {

/// Found from where this program is: a build tree and an installed one may both be moved.
std::filesystem::path library_folder();

/// "cairn", or an allocator of the family.
std::filesystem::path library_of(const std::string &name);

/// All that library_of finds, the flagship first.
std::vector<std::string> allocator_names();

} // namespace cairn::cli
