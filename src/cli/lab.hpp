// SPDX-License-Identifier: MIT
//
// Lab: the words of `cairn` that are programs in Python over the workloads of bench/.
//
// Errors:  a lab that was not built or not installed, or a missing python3, is one line.
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

/// nullptr if the lab has no such word.
const LabWord *find_lab_word(const char *word);

/// Becomes the script; `arguments` are those of main from the one behind the word on.
int lab(const LabWord &word, char **arguments);

} // namespace cairn::cli
