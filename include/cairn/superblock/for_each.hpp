// SPDX-License-Identifier: MIT
//
// All superblocks: a walk over the kinds of all slots, whatever heap a superblock is in.
//
// Adds:    for_each, and the statistics of all superblocks.
// Needs:   RunHeap.
// Threads: any. While other threads run, each figure is a sum over several moments.
// Cost:    a load for each slot.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/run/run_heap.hpp>
#include <cairn/superblock/remote_word.hpp>

namespace cairn::superblock {

/// f(s) for each superblock.
template <class F>
void for_each(const RunHeap &runs, F &&f) {
    runs.for_each_segment([&](Segment &segment) {
        for (unsigned slot = metadata_slots; slot < end_of_slots; ++slot) {
            if (segment.kind(slot) == SlotKind::superblock) {
                f(&segment.owner_lines[slot]);
            }
        }
    });
}

/// The figures of all superblocks: size classes, blocks, memory.
template <class Classes>
void statistics(const RunHeap &runs, Statistics &out) {
    out.size_classes = Classes::count;
    for (unsigned c = 0; c < Classes::count; ++c) {
        out.by_class[c].block_size = static_cast<std::uint32_t>(Classes::size_of(c));
    }
    runs.for_each_segment([&](const Segment &) { out.metadata += sizeof(Segment); });
    for_each(runs, [&](const OwnerLine *s) {
        // relaxed: a counter.
        const RemoteWord remote{remote_of(s)->word.load(std::memory_order_relaxed)};
        // Other threads change these counts meanwhile: where they contradict each other, the difference is cut off at
        // 0.
        const std::uint32_t held = s->live();
        const std::uint64_t live = held > remote.count() ? held - remote.count() : 0;
        SizeClassStatistics &c = out.by_class[s->size_class % Classes::count];
        ++out.superblocks;
        ++c.superblocks;
        c.live_blocks += live;
        c.free_blocks += s->carved > live ? s->carved - live : 0;
        out.small_live += live * c.block_size;
        out.small_resident += s->touched;
    });
}

} // namespace cairn::superblock
