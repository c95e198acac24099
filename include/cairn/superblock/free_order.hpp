// SPDX-License-Identifier: MIT
//
// Free order: in which direction the blocks of a superblock are freed, if they are freed one behind the other.
//
// Adds:    watch_free_order, after which each free of the superblock (push) fetches the line of a block that is soon freed, too.
// Needs:   the list that the last frees have left.
// Keeps:   nothing but speed depends on it.
// Threads: the owner.
// Cost:    some 20 instructions at a look; a free has two, whatever the order is.
// Source:  stride prefetching (Chen and Baer, Effective hardware-based data prefetching, 1995), in software: the processor's own
//          sees the frees of all superblocks mixed. docs/decisions/prefetch-on-free.md.
#pragma once

#include <cairn/run/segment.hpp>
#include <cairn/superblock/superblock.hpp>

#include <algorithm>

namespace cairn::superblock {

/// How far ahead: four blocks, but two lines at least, and beyond a KiB no more than one block. Where a superblock ends, as much of its
/// neighbour is fetched for nothing.
constexpr std::size_t fetch_distance(std::size_t block_size) {
    return std::max(std::clamp(4 * block_size, 2 * platform::cache_line, 1_KiB), block_size);
}

/// Sets OwnerLine::prefetch_offset by the three blocks that were freed last: to nothing unless each was near the one before, in the same
/// direction. Not of long blocks, of which a superblock has few.
inline void watch_free_order(OwnerLine *s) {
    constexpr unsigned enough = 16; // blocks; then there is but one slot
    s->prefetch_offset = 0;
    if (shared_of(s)->capacity < enough || !can_pop(s, slot_size)) { // a link that is damaged leads nowhere
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
