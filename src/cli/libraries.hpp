// SPDX-License-Identifier: MIT
//
// Libraries: finds the libraries that can be preloaded.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace cairn::cli {

/// The recording library, which `cairn trace` preloads in front of an allocator.
inline constexpr const char *recorder_name = "libcairntrace.so";

/// The folder of the libraries, relative to this program: a build tree and an installed tree may both be moved.
std::filesystem::path library_folder();

/// The line about a file of ours that fs::exists did not find: it is not there, or may not be looked at.
std::string not_there(const std::string &kind, const std::filesystem::path &file,
                      const std::error_code &error);

/// The library of "cairn" or of an allocator of the family.
std::filesystem::path library_of(const std::string &name);

/// The reason why a library cannot be preloaded; what() is one line.
class NoLibrary : public std::runtime_error {
public:
    NoLibrary(int exit_status, const std::string &why) : std::runtime_error(why), status(exit_status) {}
    const int status;
};

/// The library for an argument of --allocator: "cairn", an allocator of the family, an installed allocator of another
/// project, or a file. Throws NoLibrary.
std::filesystem::path find_library(const std::string &allocator);

/// The file of the C library, whose malloc a program has unless another one is preloaded; "" if it is unknown.
std::filesystem::path c_library();

/// The SHA-256 of a file's contents; "" if there is no sha256sum.
std::string sha256_of(const std::filesystem::path &file);

/// The names of all allocators that library_of finds, "cairn" first.
std::vector<std::string> allocator_names();

} // namespace cairn::cli
