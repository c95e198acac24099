// SPDX-License-Identifier: MIT
#include <src/cli/output_file.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path &path, const std::string &why) {
    throw std::runtime_error(path.string() + ": " + why);
}

} // namespace

void check_output(const fs::path &path, const fs::path &input) {
    std::error_code ignored;
    if (!input.empty() && fs::equivalent(path, input, ignored)) {
        fail(path, "is what is read");
    }
    const fs::file_status there = fs::status(path, ignored);
    if (fs::is_directory(there)) {
        fail(path, "is a folder");
    }
    if (fs::exists(there) && !fs::is_regular_file(there)) {
        fail(path, "is there, and no regular file");
    }
    const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
        fail(path, std::strerror(errno));
    }
}

void write_output(const fs::path &path, const std::string &text) {
    const fs::path aside = path.string() + ".partial";
    errno = 0;
    std::ofstream file(aside, std::ios::binary);
    file << text;
    file.close();
    if (!file || std::rename(aside.c_str(), path.c_str()) != 0) {
        const int error = errno;
        std::remove(aside.c_str());
        fail(path, std::strerror(error));
    }
}

} // namespace cairn::cli
