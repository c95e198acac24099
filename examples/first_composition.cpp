// SPDX-License-Identifier: MIT
//
// A first composition: an allocator for blocks of every size, from parts of a page each.
#include <cairn/adapt/pmr.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

#include <string>
#include <vector>

using namespace cairn;

using Classes = GeometricSizeClasses<32_KiB, 512>;

using Pool = Compose<MmapHeap,     // pages from the operating system
                     Bump<64_KiB>, // chunks of them, cut by moving a pointer
                     Freelist,     // blocks of one size: the last one freed is the next one handed out
                     SizeHeader>;  // a block tells its size

using Allocator = Compose<MmapHeap,                  // pages for what is larger than the classes
                          SizeHeader,                // which tells its size in the same way
                          Segregated<Classes, Pool>, // a pool for each size class
                          Locked<>>;                 // for any number of threads

int main() {
    Allocator heap; // gives everything back when it ends
    void *const first = heap.malloc(48);
    heap.free(first);
    const bool same = heap.malloc(48) == first; // no system call: the list had it

    HeapResource resource(heap); // for the standard library
    std::pmr::vector<std::pmr::string> lines(&resource);
    for (std::size_t length = 0; length < 100'000; length += 1000) {
        lines.emplace_back(length, 'x');
    }
    return same && lines[50].size() == 50'000 ? 0 : 1;
}
