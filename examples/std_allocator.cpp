// SPDX-License-Identifier: MIT
//
// A heap under a standard container, by StdAllocator: the nodes of a map from a pool.
#include "expect.hpp"

#include <cairn/adapt/std_allocator.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>

#include <map>

using namespace cairn;

int main() {
    using Pool = Compose<MmapHeap, Bump<>, Freelist>;
    using Entry = std::pair<const int, int>;
    Pool pool; // before the map, so that it outlives it
    std::map<int, int, std::less<>, StdAllocator<Entry, Pool>> squares(pool);
    for (int i = 0; i < 1000; ++i) {
        squares[i] = i * i;
    }
    const int *const before = &squares.at(500);
    squares.erase(500);
    squares[2000] = 0;
    expect(&squares.at(2000) == before, "the erased node's memory is used again");
    expect(squares.size() == 1000 && squares.at(30) == 900, "and the map is a map");
}
