// SPDX-License-Identifier: MIT
//
// The examples of docs/catalogue.md that watch heaps, a function for each row.
#include "expect.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;

namespace {

/// Counts, where the default policy would stop the program.
struct CountFaults {
    static inline int count = 0;
    static constexpr bool leaks = true;
    static void found(const Finding &) { ++count; }
};

void check() {
    {
        Compose<MmapHeap, Bump<>, Freelist, Check<CountFaults>> heap;
        auto *const p = static_cast<char *>(heap.malloc(48));
        p[48] = 1;
        heap.free(p); // 1: written behind the end
        heap.free(p); // 2: freed again
        p[7] = 1;
        heap.malloc(48);
    } // 3: written into a freed block; 4: a block is not freed
    expect(CountFaults::count == 4, "each fault is found");
}

} // namespace

int main() {
    check();
}
