// SPDX-License-Identifier: MIT
//
// OwnedLists: private heaps with ownership, a discipline for ChunkHeap. Which heap a malloc asks is Choice's matter.
//
// Adds:    a lock for each heap; a freed block goes back to the heap whose chunk it lies in, whoever frees it.
// Needs:   Choice: OwnedHeap *choose(source); for_each, hold_across_fork and let_go_after_fork like SlotHeaps.
// Keeps:   a chunk belongs to one heap for ever, so no cache line's blocks are spread by the heaps themselves.
// Threads: any.
// Errors:  nullptr.
// Cost:    the choice and an uncontended lock; on free the owner's lock.
// Source:  Hoard, section 6.1: private heaps with ownership; O(P) blowup.
#pragma once

#include <cairn/family/chunk_bins.hpp>

namespace cairn::family {

template <class Classes>
struct alignas(platform::cache_line) OwnedHeap {
    sync::Lock lock{sync::Rank::thread_heap};
    ChunkBins<Classes> bins;
    OwnedHeap *next = nullptr;
};

template <class Classes, class Choice>
class OwnedLists {
public:
    using Heap = OwnedHeap<Classes>;

    void *take(unsigned c, ChunkSource &source) {
        Heap &heap = choice_.choose(source);
        const sync::Guard guard(heap.lock);
        return heap.bins.take(c, source, &heap);
    }

    void put(ClassChunk &chunk, void *block, ChunkSource &) {
        auto *const owner = static_cast<Heap *>(chunk.owner);
        if constexpr (platform::checked) {
            if (owner == nullptr || chunk.size_class >= Classes::count ||
                Classes::size_of(chunk.size_class) != chunk.block_size) {
                platform::fatal({"free of ", block, ", which lies in no chunk of a heap"});
            }
        }
        const sync::Guard guard(owner->lock);
        owner->bins.put(chunk.size_class, block);
    }

    void statistics(Statistics &out) const {
        choice_.for_each([&](const Heap &heap) {
            heap.bins.statistics(out);
            ++out.heaps;
        });
        out.heaps_peak = out.heaps; // none goes away
    }

    void hold_across_fork() {
        choice_.hold_across_fork([](Heap &heap) { heap.lock.hold_across_fork(); });
    }
    void let_go_after_fork() {
        choice_.let_go_after_fork([](Heap &heap) { heap.lock.let_go_after_fork(); });
    }

private:
    Choice choice_;
};

} // namespace cairn::family
