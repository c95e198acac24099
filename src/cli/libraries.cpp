// SPDX-License-Identifier: MIT
#include <src/cli/commands.hpp>
#include <src/cli/libraries.hpp>

#include <algorithm>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::cli {

namespace fs = std::filesystem;

namespace {
const std::string flagship = "libcairn.so";
const std::string prefix = "libcairn-";
const std::string suffix = ".so";
} // namespace

fs::path library_folder() {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char *folder : {CAIRN_LIBRARY_FOLDER, "../lib"}) {
        const fs::path library = (own / folder).lexically_normal();
        if (fs::exists(library / flagship)) {
            return library;
        }
    }
    return (own / CAIRN_LIBRARY_FOLDER).lexically_normal();
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
    const bool is_name = !is_file && !allocator.empty() && allocator != "cairn";
    const fs::path library = is_file ? fs::absolute(allocator) : library_of(is_name ? allocator : "cairn");
    std::error_code error;
    if (!fs::exists(library, error)) {
        if (is_name) {
            std::string known;
            for (const std::string &name : allocator_names()) {
                known += (known.empty() ? "" : ", ") + name;
            }
            throw NoLibrary(wrong_usage, "there is no allocator '" + allocator + "'; there are: " + known);
        }
        throw NoLibrary(can_not_run, "there is no library " + library.string());
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
    int ends[2];
    if (file.empty() || pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string path = fs::absolute(file);
    std::string name = "sha256sum";
    std::string mark = "--";
    char *const words[] = {name.data(), mark.data(), path.data(), nullptr};
    pid_t child = 0;
    const int trouble = posix_spawnp(&child, name.c_str(), &actions, nullptr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string said;
    char part[256];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
        said.append(part, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 1;
    if (trouble != 0 || waitpid(child, &status, 0) != child || status != 0) {
        return {};
    }
    // A name with a backslash in it has one in front of the line.
    const std::size_t digits = said.find_first_not_of('\\');
    return digits == std::string::npos ? "" : said.substr(digits, 64);
}

} // namespace cairn::cli
