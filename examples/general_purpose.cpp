// SPDX-License-Identifier: MIT
//
// A general-purpose heap from the layers of the kit, with C's semantics and for any number of threads: strict
// segregated fits, a size header before each block, one lock. (After the Kingsley allocator of Heap Layers,
// section 6.1, with finer size classes.)
#include "expect.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

#include <cstring>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

using Bin = Compose<MmapHeap, Bump<64_KiB>, Freelist, SizeHeader>;
using General =
    Compose<MmapHeap, SizeHeader,                                 // large blocks
            Segregated<GeometricSizeClasses<32_KiB, 1_KiB>, Bin>, // small ones, a list for each class
            Ansi,                                                 // malloc(0), realloc, calloc
            Locked<>>;                                            // threads

} // namespace

int main() {
    General heap;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&heap, t] {
            for (std::size_t size = 0; size < 50'000; size += 501) {
                auto *p = static_cast<char *>(heap.malloc(size));
                std::memset(p, t, size);
                p = static_cast<char *>(heap.reallocate(p, 2 * size + 1));
                expect(size == 0 || (p[0] == t && p[size - 1] == t), "reallocate keeps the contents");
                heap.free(p);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    auto *const zeros = static_cast<int *>(heap.calloc(1000, sizeof(int)));
    expect(zeros[0] == 0 && zeros[999] == 0, "calloc clears");
    heap.free(zeros);
    heap.free(nullptr);
}
