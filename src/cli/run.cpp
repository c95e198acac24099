// SPDX-License-Identifier: MIT
//
// `cairn run`: puts the library first in LD_PRELOAD and becomes the program, so that exit status, signals and terminal
// are those of the program.
#include <src/cli/commands.hpp>
#include <src/cli/executable.hpp>
#include <src/cli/libraries.hpp>

#include <algorithm>
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

/// The file that execvp() will choose; "" if there is none.
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

/// The recording library, if this process runs under `cairn trace`: it has to stay first.
std::string recorder_of_ours(const std::string &preloaded) {
    const char *const names = std::getenv("CAIRN_TRACE");
    for (std::size_t at = 0; names != nullptr && *names != 0 && at < preloaded.size();) {
        const std::size_t end = std::min(preloaded.find_first_of(" :", at), preloaded.size());
        const std::string library = preloaded.substr(at, end - at);
        if (fs::path(library).filename() == recorder_name) {
            return library;
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
    try {
        library = find_library(request.allocator);
    } catch (const NoLibrary &why) {
        return failed(why.status, why.what());
    }
    if (!is_library(library)) {
        return failed(can_not_run, "the library " + library.string() + " can not be preloaded: it is none");
    }
    const std::string &program = request.command.front();
    if (const fs::path file = find_program(program); !file.empty()) {
        if (const std::string why = why_not_preloaded(file); !why.empty()) {
            failed(0, "warning: " + program + " keeps its own malloc: " + why);
        }
    }
    const char *const found = std::getenv("LD_PRELOAD");
    const std::string others = found != nullptr ? found : "";
    const std::string recorder = request.recorder.empty() ? recorder_of_ours(others) : request.recorder;
    const std::string preload =
        (recorder.empty() ? "" : recorder + ":") + library.string() + (others.empty() ? "" : ":" + others);
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
