// SPDX-License-Identifier: MIT
//
// Private heaps with ownership: each thread allocates from its own heap, and a freed block goes back to the heap that
// allocated it. One lock a heap.
//
// Source: Hoard, section 6.1 and Table 7: the producer gets back what its consumer frees, so consumption is bounded,
// but what others free into a heap that does not allocate lies idle there: in the round-robin program of that section P
// heaps hold K blocks each, where K are needed.
#pragma once

#include <cairn/family/chunk_heap.hpp>
#include <cairn/family/owned_lists.hpp>
#include <cairn/family/slot_heaps.hpp>
#include <cairn/sizeclass/geometric.hpp>

namespace cairn {

struct OwnedParameters {
    using Classes = GeometricSizeClasses<16_KiB, 1_KiB>;
};

namespace family {

/// A heap for each thread, and one for those that can not have one.
template <class Classes>
class HeapOfThread {
public:
    OwnedHeap<Classes> &choose(ChunkSource &source) {
        OwnedHeap<Classes> *const mine = heaps_.mine(source);
        return CAIRN_LIKELY(mine != nullptr) ? *mine : shared_;
    }

    template <class F>
    void for_each(F f) const {
        f(shared_);
        heaps_.for_each(f);
    }
    template <class F>
    void hold_across_fork(F f) {
        heaps_.hold_across_fork(f);
        f(shared_);
    }
    template <class F>
    void let_go_after_fork(F f) {
        f(shared_);
        heaps_.let_go_after_fork(f);
    }

private:
    SlotHeaps<OwnedHeap<Classes>> heaps_;
    OwnedHeap<Classes> shared_;
};

} // namespace family

template <class P = OwnedParameters>
using OwnedHeaps =
    family::ChunkHeap<typename P::Classes,
                      family::OwnedLists<typename P::Classes, family::HeapOfThread<typename P::Classes>>>;

} // namespace cairn
