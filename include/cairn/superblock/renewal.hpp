// SPDX-License-Identifier: MIT
//
// Renewal: how a superblock without live blocks is made ready to be allocated from again.
//
// Adds:    carve_again_if_unordered, which keeps the free list where it goes through memory in order of address;
//          carve_again_if_incomplete, for a list that has not all blocks.
// Needs:   a superblock without live blocks, onto whose remote list no thread pushes.
// Keeps:   blocks that are handed out one after the other are mostly neighbours.
// Threads: a thread that has exclusive access to the superblock.
// Cost:    loads from 8 blocks, whose misses overlap. Carving all blocks again costs some hundred cache lines.
// Source:  docs/decisions/empty-superblock-reuse.md.
#pragma once

#include <cairn/superblock/carving.hpp>

namespace cairn::superblock {

/// Remote frees of the superblock were counted, but their list was dropped: where there were any, the superblock's
/// own list has not all blocks, and all are carved again.
inline void carve_again_if_incomplete(OwnerLine *s) {
    if (s->live() != 0) {
        carve_again(s);
    }
}

/// Whether the links of eight blocks, all over the superblock, lead to a neighbouring block, but for one of them.
/// Nearly in order is not enough: the order in which a program takes a tree down, for example, becomes less regular
/// each time that the program builds the tree from this list again.
inline bool is_in_order(const OwnerLine *s) {
    constexpr std::uint32_t samples = 8;
    const std::size_t size = shared_of(s)->block_size;
    unsigned jumps = 0;
    for (std::uint32_t i = 0; i < samples; ++i) {
        const std::uintptr_t block = blocks_of(s) + s->carved * i / samples * size;
        const std::uintptr_t link = word_of(block) ^ s->cookie;
        jumps += link != block + size && link != block - size && !is_end(link);
    }
    return jumps <= 1;
}

/// For a superblock whose list has all its carved blocks: all blocks are carved again unless the list is in order.
inline void carve_again_if_unordered(OwnerLine *s) {
    if (!is_end(s->free) && !is_in_order(s)) {
        carve_again(s);
    }
}

} // namespace cairn::superblock
