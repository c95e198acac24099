// SPDX-License-Identifier: MIT
#include <src/cli/commands.hpp>
#include <src/cli/libraries.hpp>

#include <algorithm>

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

} // namespace cairn::cli
