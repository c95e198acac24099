// SPDX-License-Identifier: MIT
// A scope discipline like 176.gcc's (Heap Layers, section 5.2, Figure 4), by the front end of a small compiler, over
// one of: the C library's obstacks (`original`; `functions` instead of macros), the kit's layers on malloc (`layered`)
// and with a list of free chunks (`freelist`), malloc and free for each object (`malloc`). All do the same work and
// print the same.
#include "../common/options.hpp"
#include "compiler.hpp"
#include "memory.hpp"
#include "source_text.hpp"

#include <cinttypes>

using namespace cairn::bench;

namespace {

template <class Memory>
std::uint64_t compile(const char *text) {
    return Compiler<Memory>(text).run();
}

constexpr struct {
    std::string_view name;
    std::uint64_t (*compile)(const char *);
} variants[] = {
#if CAIRN_BENCH_HAS_OBSTACK
    {"original", compile<Macros>},
    {"functions", compile<Functions>},
#endif
    {"layered", compile<Layered<OnMalloc>>},
    {"freelist", compile<Layered<OnFreelist>>},
    {"malloc", compile<Malloc>}};

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "a compiler's front end with scopes on a stack, as 176.gcc (Heap Layers, section 5.2)");
    const char *name = options.word("variant", "malloc", "original, functions, layered, freelist or malloc");
    const std::uint64_t functions = options.number("functions", 40, "functions of the text that is compiled");
    const std::uint64_t rounds = options.work("rounds", 400, "times that it is compiled");
    options.finish();

    for (const auto &variant : variants) {
        if (variant.name == name) {
            SourceText text(functions, 176);
            std::uint64_t sum = 0;
            for (std::uint64_t i = 0; i < rounds; ++i)
                sum = sum * 31 + variant.compile(text.begin());
            std::printf("obstack: %zu bytes, %" PRIu64 " times, %016" PRIx64 "\n", text.size(), rounds, sum);
            return 0;
        }
    }
    options.refuse("variant", name);
}
