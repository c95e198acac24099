// SPDX-License-Identifier: MIT
#include <src/cli/libraries.hpp>

#include <algorithm>

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

} // namespace cairn::cli
