// SPDX-License-Identifier: MIT
#include <src/cli/commands.hpp>
#include <src/cli/lab.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

namespace cairn::cli {

namespace fs = std::filesystem;

const LabWord *find_lab_word(const char *word) {
    const auto *const found = std::find_if(lab_words.begin(), lab_words.end(), [&](const LabWord &each) {
        return std::strcmp(each.word, word) == 0;
    });
    return found == lab_words.end() ? nullptr : found;
}

int lab(const LabWord &word, char **arguments) {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    // In a build tree the folder is a symbolic link into the source tree.
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(own / CAIRN_LAB_FOLDER, error);
    std::string script = folder / word.script;
    if (!fs::exists(script, error)) {
        std::cerr << "cairn: " << word.word << ": there is no " << script
                  << (fs::exists(folder, error) ? "\n" : ": this Cairn was built without its lab\n");
        return can_not_run;
    }
    // Tells the script where libraries and workloads are.
    setenv("CAIRN_BUILD", own.parent_path().c_str(), 1);
    // The system's packages need the system's own interpreter: not another one in PATH, nor PYTHONHOME and similar
    // variables.
    const std::string own_python = "/usr/bin/python3";
    std::string python = fs::exists(own_python, error) ? own_python : "python3";
    std::string options = "-BE"; // writes no bytecode, ignores environment variables
    std::vector<char *> words{python.data(), options.data(), script.data()};
    while (*arguments != nullptr) {
        words.push_back(*arguments++);
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int why = errno;
    std::cerr << "cairn: " << word.word << ": can not run python3: " << std::strerror(why) << '\n';
    return why == ENOENT ? not_found : can_not_run;
}

} // namespace cairn::cli
