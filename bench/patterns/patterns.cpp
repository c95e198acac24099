// SPDX-License-Identifier: MIT
// Patterns of allocation as programs in C++ have them, one at a time: `--pattern NAME`, `--pattern list` for all names.
#include "../common/options.hpp"
#include "pattern.hpp"

#include <cinttypes>

using namespace cairn::bench;

int main(int argc, char **argv) {
    Options options(argc, argv, "patterns of allocation as programs have them (this lab's own)");
    const std::string_view name = options.word("pattern", "map", "which one; list: says which there are");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::uint64_t percent = options.work("percent", 100, "of the pattern's usual work");
    options.finish();

    for (const auto patterns : {patterns::of_blocks(), patterns::of_containers(), patterns::of_threads()}) {
        for (const patterns::Pattern &pattern : patterns) {
            if (name == "list") {
                std::printf("%-14s %s\n", pattern.name, pattern.what);
            } else if (name == pattern.name) {
                std::printf("patterns: %s %" PRIu64 "\n", pattern.name, pattern.run({threads, percent}));
                return 0;
            }
        }
    }
    if (name != "list")
        options.refuse("pattern", name.data());
}
