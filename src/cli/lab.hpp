// SPDX-License-Identifier: MIT
//
// Lab: the subcommands of `cairn` that are Python programs; they use the workloads of bench/.
//
// Errors:  one line if the lab was not built or not installed, or if there is no python3.
#pragma once

#include <array>

namespace cairn::cli {

struct LabWord {
    const char *word;
    const char *script; ///< in the folder of the lab
    const char *summary;
};

inline constexpr std::array<LabWord, 4> lab_words{{
    {"bench", "run.py", "Put allocators side by side on workloads"},
    {"paper", "paper.py", "Measure a table of the documents again"},
    {"peaks", "peaks.py", "Compare peak memory with what is live"},
    {"report", "report.py", "Make a page of a trace or of results"},
}};

/// The subcommand of that name; nullptr if the lab has none.
const LabWord *find_lab_word(const char *word);

/// Becomes the script; `arguments` are those of main() after the name of the subcommand.
int lab(const LabWord &word, char **arguments);

} // namespace cairn::cli
