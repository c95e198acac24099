// SPDX-License-Identifier: MIT
//
// Libraries: where those that can be preloaded are.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::cli {

/// `cairn trace` preloads it in front of an allocator.
inline constexpr const char *recorder_name = "libcairntrace.so";

/// Found from where this program is: a build tree and an installed one may both be moved.
std::filesystem::path library_folder();

/// "cairn", or an allocator of the family.
std::filesystem::path library_of(const std::string &name);

/// Why a library can not be preloaded; what() is one line.
class NoLibrary : public std::runtime_error {
public:
    NoLibrary(int exit_status, const std::string &why) : std::runtime_error(why), status(exit_status) {}
    const int status;
};

/// For the words of --allocator: "cairn", one of the family, an installed peer, or a file. Throws NoLibrary.
std::filesystem::path find_library(const std::string &allocator);

/// The file of the C library, whose malloc a program has without a preloaded one; "" if that can not be said.
std::filesystem::path c_library();

/// Of a file's contents, as sha256sum says it; "" if that is not there.
std::string sha256_of(const std::filesystem::path &file);

/// All that library_of finds, the flagship first.
std::vector<std::string> allocator_names();

} // namespace cairn::cli
