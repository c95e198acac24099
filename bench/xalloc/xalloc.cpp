// SPDX-License-Identifier: MIT
// A stack discipline like 197.parser's (Heap Layers, sections 1 and 5.1, Figures 1 and 3), by a parser for link
// grammars, over one of: the allocator that its authors would write by hand (`original`; `inlined` at each place), the
// layers of the kit (`layered`), the program's malloc (`malloc`). All variants do the same work and print the same.
#include "../common/options.hpp"
#include "original.hpp"
#include "parser.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>

#include <cinttypes>

using namespace cairn::bench;

namespace {

using LayeredHeap = cairn::Compose<cairn::MmapHeap, cairn::FixedStack<xalloc_region>, cairn::Xalloc>;
/// A template, so that a program without this variant has nothing of it.
template <class Heap>
struct LayeredOn {
    static constinit inline Heap heap;
    static void open() {}
    static void *malloc(std::size_t size) { return heap.malloc(size); }
    static void free(void *p) { heap.free(p); }
};
using Layered = LayeredOn<LayeredHeap>;

struct Malloc {
    static void open() {}
    static void *malloc(std::size_t size) { return std::malloc(size); }
    static void free(void *p) { std::free(p); }
};

template <class Memory>
std::uint64_t parse_all(std::uint64_t sentences, std::size_t shortest, std::size_t longest) {
    Memory::open();
    const Dictionary<Memory> dictionary;
    Random random(197);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < sentences; ++i)
        sum = sum * 31 + Parser<Memory>(dictionary, i + 1, random.between(shortest, longest)).run();
    return sum;
}

constexpr struct {
    std::string_view name;
    std::uint64_t (*parse_all)(std::uint64_t, std::size_t, std::size_t);
} variants[] = {
#ifdef CAIRN_XALLOC_ONLY // a program of one variant: bench/papers compares their sizes
    {CAIRN_XALLOC_ONLY_NAME, parse_all<CAIRN_XALLOC_ONLY>},
#else
    {"original", parse_all<Original>},
    {"inlined", parse_all<OriginalInlined>},
    {"layered", parse_all<Layered>},
    {"malloc", parse_all<Malloc>},
#endif
};

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "a parser with a stack of its own, as 197.parser (Heap Layers, section 5.1)");
    const char *name = options.word("variant", "malloc", "original, inlined, layered or malloc");
    const std::size_t shortest = options.number("low", 8, "words of the shortest sentence");
    const std::size_t longest = options.high(shortest, 40, "words of the longest sentence");
    const std::uint64_t sentences = options.work("sentences", 1000, "sentences");
    options.finish();

    for (const auto &variant : variants) {
        if (variant.name == name) {
            std::printf("xalloc: %" PRIu64 " sentences, %016" PRIx64 "\n", sentences,
                        variant.parse_all(sentences, shortest, longest));
            return 0;
        }
    }
    options.refuse("variant", name);
}
