// SPDX-License-Identifier: MIT
//
// A first composition: a heap for blocks of one size, read from the source of memory upward.
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;

int main() {
    using Pool = Compose<MmapHeap,     // pages from the operating system
                         Bump<64_KiB>, // cut into blocks, a chunk at a time
                         Freelist>;    // and used again when freed
    Pool pool;
    void *const block = pool.malloc(48);
    pool.free(block);
    return pool.malloc(48) == block ? 0 : 1;
}
