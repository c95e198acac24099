// SPDX-License-Identifier: MIT
//
// Large statistics: how many large blocks there are, and how many slots they have.
//
// Adds:    count_large.
// Needs:   segments: the kinds of their slots, and the state of each large block.
// Threads: any. While other threads run, the figures are of several moments.
// Cost:    a load for each slot. Counters would cost each malloc and free of a large block an atomic addition.
#pragma once

#include <cairn/run/run_heap.hpp>

namespace cairn {

struct LargeCount {
    std::size_t blocks = 0;
    std::size_t slots = 0;
};

/// Counts live blocks: not those whose run waits for its thread (SpareRuns).
inline LargeCount count_large(const RunHeap &runs) {
    LargeCount count;
    runs.for_each_segment([&](const Segment &segment) {
        for (unsigned slot = metadata_slots; slot < end_of_slots; ++slot) {
            if (segment.kind(slot) == SlotKind::large && segment.large_block(slot) != Segment::dead) {
                ++count.blocks;
                count.slots += segment.owner_lines[slot].slots;
            }
        }
    });
    return count;
}

} // namespace cairn
