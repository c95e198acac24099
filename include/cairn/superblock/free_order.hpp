// SPDX-License-Identifier: MIT
//
// Free order: in which direction the blocks of a superblock are freed, if they are freed in order of address.
//
// Adds:    watch_free_order, after which each free of the superblock (push) also prefetches a block that is freed
//          soon.
// Needs:   the list that the last frees have left.
// Keeps:   only speed depends on it.
// Threads: the owner.
// Cost:    some 20 instructions at a check; two in each free, whatever the order is.
// Source:  stride prefetching (Chen and Baer, Effective hardware-based data prefetching, 1995), in software: the
//          processor's own prefetcher sees the frees of all superblocks mixed. docs/decisions/prefetch-on-free.md.
#pragma once

#include <cairn/run/segment.hpp>
#include <cairn/superblock/superblock.hpp>

#include <algorithm>

namespace cairn::superblock {

/// How many bytes ahead of a freed block to prefetch: four blocks, but at least two cache lines, and more than 1 KiB
/// only for a block that is longer. At the end of a superblock the prefetch is wasted on its neighbour.
constexpr std::size_t fetch_distance(std::size_t block_size) {
    return std::max(std::clamp(4 * block_size, 2 * platform::cache_line, 1_KiB), block_size);
}

/// Sets OwnerLine::prefetch_offset from the three blocks that were freed last: to 0 unless each lies near the one
/// freed before it, in the same direction. Superblocks of fewer than 16 blocks get 0.
inline void watch_free_order(OwnerLine *s) {
    constexpr unsigned enough = 16; // blocks; such a superblock has one slot
    s->prefetch_offset = 0;
    if (shared_of(s)->capacity < enough || !can_pop(s, slot_size)) { // a damaged link is not followed
        return;
    }
    const std::uintptr_t last = s->free;
    const std::uintptr_t before = word_of(last) ^ s->cookie;
    if (is_end(before)) {
        return;
    }
    const std::uintptr_t first = word_of(before) ^ s->cookie;
    const std::size_t size = shared_of(s)->block_size;
    const auto near = static_cast<std::intptr_t>(4 * size);
    const auto later = static_cast<std::intptr_t>(last - before);
    const auto earlier = static_cast<std::intptr_t>(before - first);
    const auto distance = static_cast<std::int32_t>(fetch_distance(size));
    if (later > 0 && later <= near && earlier > 0 && earlier <= near) {
        s->prefetch_offset = distance;
    } else if (later < 0 && later >= -near && earlier < 0 && earlier >= -near) {
        s->prefetch_offset = -distance;
    }
}

} // namespace cairn::superblock
