// SPDX-License-Identifier: MIT
#include <src/cli/commands.hpp>
#include <src/cli/libraries.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::cli {

namespace fs = std::filesystem;

namespace {
const std::string flagship = "libcairn.so";
const std::string prefix = "libcairn-";
const std::string suffix = ".so";

struct Peer {
    std::string name;
    std::string library; ///< file name without the version
};
const Peer peers[] = {{"jemalloc", "libjemalloc.so"},
                      {"mimalloc", "libmimalloc.so"},
                      {"tcmalloc", "libtcmalloc_minimal.so"},
                      {"tbb", "libtbbmalloc_proxy.so"}};

/// The output of a program; "" if it does not exist or fails.
std::string said_by(std::vector<std::string> words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    auto *const found = std::signal(SIGCHLD, SIG_DFL); // if it were ignored, there would be no status
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char *> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string &word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    pid_t child = 0;
    const int trouble = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string said;
    char part[256];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
        said.append(part, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 1;
    const bool good = trouble == 0 && waitpid(child, &status, 0) == child && status == 0;
    std::signal(SIGCHLD, found);
    return good ? said : "";
}

/// The file of a library, of any version, in the loader's cache; "" if there is none.
fs::path installed(const std::string &library) {
    std::istringstream lines(said_by({"/sbin/ldconfig", "-p"}));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t arrow = line.find(" => ");
        if (arrow != std::string::npos && line.find(library) == line.find_first_not_of(" \t")) {
            return line.substr(arrow + 4);
        }
    }
    return {};
}

/// The folder in which bench/peers.py builds.
fs::path peers_folder() {
    const auto variable = [](const char *name) -> fs::path {
        const char *const value = std::getenv(name);
        return value == nullptr ? "" : value;
    };
    if (const fs::path own = variable("CAIRN_PEERS"); !own.empty()) {
        return own;
    }
    if (const fs::path cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
        return cache / "cairn" / "peers";
    }
    const fs::path home = variable("HOME");
    const passwd *const user = home.empty() ? getpwuid(getuid()) : nullptr;
    return (user != nullptr ? user->pw_dir : home) / ".cache" / "cairn" / "peers";
}

/// The library of another project's allocator, by its name in `cairn bench`; "" if it is not installed.
fs::path peer_library(const std::string &name) {
    for (const Peer &peer : peers) {
        if (peer.name == name) {
            return installed(peer.library);
        }
    }
    const fs::path built = peers_folder() / ("lib" + name + suffix);
    std::error_code error;
    return fs::exists(built, error) ? built : fs::path();
}
} // namespace

fs::path library_folder() {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char *folder : {CAIRN_LIBRARY_FOLDER, "../lib"}) {
        const fs::path library = (own / folder).lexically_normal();
        std::error_code error;
        if (fs::exists(library / flagship, error) || error) {
            return library;
        }
    }
    return (own / CAIRN_LIBRARY_FOLDER).lexically_normal();
}

std::string not_there(const std::string &kind, const fs::path &file, const std::error_code &error) {
    return error ? "the " + kind + " " + file.string() + ": " + error.message()
                 : "there is no " + kind + " " + file.string();
}

fs::path library_of(const std::string &name) {
    return library_folder() / (name == "cairn" ? flagship : prefix + name + suffix);
}

std::vector<std::string> allocator_names() {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(library_folder(), error)) {
        const std::string file = entry.path().filename();
        if (file.starts_with(prefix) && file.ends_with(suffix)) {
            names.push_back(file.substr(prefix.size(), file.size() - prefix.size() - suffix.size()));
        }
    }
    std::sort(names.begin(), names.end());
    names.insert(names.begin(), "cairn");
    return names;
}

fs::path find_library(const std::string &allocator) {
    const bool is_file = allocator.find('/') != std::string::npos || fs::path(allocator).extension() == ".so";
    const bool is_name = !is_file && allocator != "cairn";
    fs::path library = is_file ? fs::absolute(allocator) : library_of(allocator);
    std::error_code error;
    if (is_name && !fs::exists(library, error) && !error) {
        library = peer_library(allocator);
    }
    if (!fs::exists(library, error)) {
        if (is_name && !error) {
            std::string known;
            for (const std::string &name : allocator_names()) {
                known += (known.empty() ? "" : ", ") + name;
            }
            throw NoLibrary(wrong_usage, "there is no allocator '" + allocator + "'; there are: " + known +
                                             ", and installed peers");
        }
        throw NoLibrary(can_not_run, not_there("library", library, error));
    }
    if (fs::is_directory(library, error) || access(library.c_str(), R_OK) != 0) {
        throw NoLibrary(can_not_run, "the library " + library.string() + " can not be read");
    }
    if (library.string().find_first_of(" :") != std::string::npos) {
        throw NoLibrary(can_not_run, "the library " + library.string() +
                                         " can not be preloaded: LD_PRELOAD splits at a blank or a colon");
    }
    return library;
}

fs::path c_library() {
    Dl_info info{};
    void *const something = dlsym(RTLD_DEFAULT, "qsort");
    std::error_code error;
    if (something == nullptr || dladdr(something, &info) == 0) {
        return {};
    }
    return fs::canonical(info.dli_fname, error);
}

std::string sha256_of(const fs::path &file) {
    const std::string said = file.empty() ? "" : said_by({"sha256sum", "--", fs::absolute(file)});
    // For a name with a backslash in it, sha256sum begins the line with one.
    const std::size_t digits = said.find_first_not_of('\\');
    return digits == std::string::npos ? "" : said.substr(digits, 64);
}

} // namespace cairn::cli
