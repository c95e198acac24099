// SPDX-License-Identifier: MIT
//
// Like MTmalloc of Solaris 7: a fixed number of heaps with a lock each; every malloc takes the next heap in turn, by
// one counter for all; a freed block goes back to its heap.
//
// Source: Hoard, section 6.1 and Table 7: the counter ("nextHeap") is written by every malloc, so it does not scale,
// and since threads allocate from the same heaps in turn, it induces false sharing actively. O(P) blowup.
#pragma once

#include <cairn/family/chunk_heap.hpp>
#include <cairn/family/owned_lists.hpp>
#include <cairn/sizeclass/geometric.hpp>

namespace cairn {

struct MtmallocLikeParameters {
    using Classes = GeometricSizeClasses<16_KiB, 1_KiB>;
    static constexpr unsigned heaps = 16; ///< no document says how many
};

namespace family {

template <class Classes, unsigned Heaps>
class HeapInTurn {
public:
    OwnedHeap<Classes> &choose(ChunkSource &) {
        // relaxed: the number is all that is passed on; what a heap holds is under its lock.
        return heaps_[next_heap_.fetch_add(1, std::memory_order_relaxed) % Heaps];
    }

    template <class F>
    void for_each(F f) const {
        for (const auto &heap : heaps_) {
            f(heap);
        }
    }
    template <class F>
    void hold_across_fork(F f) {
        std::for_each(heaps_, heaps_ + Heaps, f);
    }
    template <class F>
    void let_go_after_fork(F f) {
        std::for_each(heaps_, heaps_ + Heaps, f);
    }

private:
    alignas(platform::cache_line) std::atomic<unsigned> next_heap_{0};
    OwnedHeap<Classes> heaps_[Heaps];
};

} // namespace family

template <class P = MtmallocLikeParameters>
using MtmallocLike = family::ChunkHeap<
    typename P::Classes,
    family::OwnedLists<typename P::Classes, family::HeapInTurn<typename P::Classes, P::heaps>>>;

} // namespace cairn
