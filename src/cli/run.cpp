// SPDX-License-Identifier: MIT
//
// `cairn run`: puts the library in front of LD_PRELOAD and becomes the program, so that exit status, signals
// and terminal are the program's own.
#include <src/cli/commands.hpp>
#include <src/cli/executable.hpp>
#include <src/cli/libraries.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <unistd.h>

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

int failed(int status, const std::string &what) {
    std::cerr << "cairn: " << what << '\n';
    return status;
}

/// The library's file; 0, or the exit status after a complaint.
int find_library(const std::string &allocator, fs::path &library) {
    const bool is_file = allocator.find('/') != std::string::npos || fs::path(allocator).extension() == ".so";
    const bool is_name = !is_file && !allocator.empty() && allocator != "cairn";
    library = is_file ? fs::absolute(allocator) : library_of(is_name ? allocator : "cairn");
    std::error_code error;
    if (!fs::exists(library, error)) {
        if (is_name) {
            std::string known;
            for (const std::string &name : allocator_names()) {
                known += (known.empty() ? "" : ", ") + name;
            }
            return failed(wrong_usage, "there is no allocator '" + allocator + "'; there are: " + known);
        }
        return failed(can_not_run, "there is no library " + library.string());
    }
    if (fs::is_directory(library, error) || access(library.c_str(), R_OK) != 0) {
        return failed(can_not_run, "the library " + library.string() + " can not be read");
    }
    if (library.string().find_first_of(" :") != std::string::npos) {
        return failed(can_not_run, "the library " + library.string() +
                                       " can not be preloaded: LD_PRELOAD splits at a blank or a colon");
    }
    return 0;
}

/// The file that execvp will choose, "" if there is none.
fs::path find_program(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        return name;
    }
    const char *const path = std::getenv("PATH");
    const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        const fs::path file = fs::path(at == end ? "." : folders.substr(at, end - at)) / name;
        std::error_code error;
        if (access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error)) {
            return file;
        }
        at = end + 1;
    }
    return {};
}

} // namespace

int run(const RunRequest &request) {
    if (request.command.empty()) {
        return failed(wrong_usage, "run: no program is named; cairn run [OPTIONS] -- PROGRAM [ARGS]");
    }
    fs::path library;
    if (const int status = find_library(request.allocator, library); status != 0) {
        return status;
    }
    const std::string &program = request.command.front();
    if (const fs::path file = find_program(program); !file.empty()) {
        if (const std::string why = why_not_preloaded(file); !why.empty()) {
            failed(0, "warning: " + program + " keeps its own malloc: " + why);
        }
    }
    const char *const others = std::getenv("LD_PRELOAD");
    const std::string preload = (request.recorder.empty() ? "" : request.recorder + ":") + library.string() +
                                (others != nullptr && *others != 0 ? ":" + std::string(others) : "");
    setenv("LD_PRELOAD", preload.c_str(), 1);
    if (request.statistics) {
        setenv("CAIRN_STATS", "1", 1);
    }
    std::vector<char *> words;
    words.reserve(request.command.size() + 1);
    for (const std::string &word : request.command) {
        words.push_back(const_cast<char *>(word.c_str())); // execvp changes nothing
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    return failed(error == ENOENT ? not_found : can_not_run,
                  "can not run '" + program + "': " + std::strerror(error));
}

} // namespace cairn::cli
