// SPDX-License-Identifier: MIT
//
// A first composition: an allocator for blocks of one size, from four parts.
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

using Pool = cairn::Compose<cairn::MmapHeap,        // pages from the operating system
                            cairn::Bump<64 * 1024>, // chunks of them, cut by moving a pointer
                            cairn::Freelist,        // a freed block is the next one handed out
                            cairn::Locked<>>;       // for any number of threads

int main() {
    Pool pool; // gives everything back when it ends
    void *const first = pool.malloc(48);
    pool.free(first);
    return pool.malloc(48) == first ? 0 : 1; // no system call: the list had it
}
