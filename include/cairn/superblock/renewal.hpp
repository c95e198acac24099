// SPDX-License-Identifier: MIT
//
// Renewal: how a superblock without live blocks is made ready to be allocated from again.
//
// Adds:    renew: goes on with the list that the frees have left, where that goes through memory in order; else all blocks
//          are carved again.
// Needs:   a superblock without live blocks, and nobody who pushes onto its remote list.
// Keeps:   blocks that are handed out one after the other are mostly neighbours.
// Threads: who has the superblock to himself.
// Cost:    a look at 8 blocks, whose misses overlap; carving all of them costs some hundred lines.
// Source:  docs/decisions/empty-superblock-reuse.md.
#pragma once

#include <cairn/superblock/carving.hpp>

namespace cairn::superblock {

/// Of a superblock without live blocks: the ones that others have freed were counted, and are in no list any more. Without them
/// the list is not whole.
inline void carve_again_if_incomplete(OwnerLine *s) {
    if (s->live() != 0) {
        carve_again(s);
    }
}

/// Whether the list leads from each of some blocks, all over the superblock, to a neighbour; once it may jump. An order that only
/// stays near, such as that in which a tree is taken down, strays farther each time that the tree is built from it again.
inline bool is_in_order(const OwnerLine *s) {
    constexpr std::uint32_t looks = 8;
    const std::size_t size = shared_of(s)->block_size;
    unsigned jumps = 0;
    for (std::uint32_t i = 0; i < looks; ++i) {
        const std::uintptr_t block = blocks_of(s) + s->carved * i / looks * size;
        const std::uintptr_t link = word_of(block) ^ s->cookie;
        jumps += link != block + size && link != block - size && !is_end(link);
    }
    return jumps <= 1;
}

/// The list is whole, or empty, and there is nothing to be kept or cut.
inline void carve_again_if_unordered(OwnerLine *s) {
    if (!is_end(s->free) && !is_in_order(s)) {
        carve_again(s);
    }
}

} // namespace cairn::superblock
