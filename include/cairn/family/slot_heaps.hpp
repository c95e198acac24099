// SPDX-License-Identifier: MIT
//
// SlotHeaps: a heap for each thread, made when the thread first asks, and inherited by the next thread of its slot.
//
// Adds:    mine(), the calling thread's heap; a walk over all.
// Needs:   thread_slot(); a ChunkSource, handed in, for the heaps' memory.
// Keeps:   a heap lives as long as the source and never moves. Its `next` is ours.
// Threads: any.
// Errors:  mine() is nullptr when the thread has no slot or there is no memory for its heap.
// Cost:    mine() is two loads.
// Source:  Hoard, section 6.1: "assigning one heap to every thread (using thread-specific data)" in STL's allocator.
#pragma once

#include <cairn/family/chunk_source.hpp>
#include <cairn/thread/thread_slot.hpp>

#include <new>

namespace cairn::family {

template <class H>
class SlotHeaps {
public:
    H *mine(ChunkSource &source) {
        const unsigned slot = thread_slot();
        if (CAIRN_UNLIKELY(slot == no_thread_slot)) {
            return nullptr;
        }
        // relaxed: the slot's threads alone write here, one after the other, which thread_slot() puts in order.
        H *const heap = by_slot_[slot].load(std::memory_order_relaxed);
        return CAIRN_LIKELY(heap != nullptr) ? heap : make(slot, source);
    }

    /// f(heap) for each heap, while no heap can be made.
    template <class F>
    void for_each(F f) const {
        const sync::Guard guard(lock_);
        for_each_locked(f);
    }

    /// Keeps new heaps from being made, and does f(heap) for all there are; and the other way round.
    template <class F>
    void hold_across_fork(F f) {
        lock_.hold_across_fork();
        for_each_locked(f);
    }
    template <class F>
    void let_go_after_fork(F f) {
        for_each_locked(f);
        lock_.let_go_after_fork();
    }

private:
    template <class F>
    void for_each_locked(F f) const {
        for (H *heap = first_; heap != nullptr; heap = heap->next) {
            f(*heap);
        }
    }

    CAIRN_COLD H *make(unsigned slot, ChunkSource &source) {
        const sync::Guard guard(lock_);
        void *const memory = source.forever(sizeof(H));
        if (memory == nullptr) {
            return nullptr;
        }
        H *const heap = new (memory) H;
        heap->next = first_;
        first_ = heap;
        by_slot_[slot].store(heap, std::memory_order_relaxed); // pairs with nothing: see mine()
        return heap;
    }

    mutable sync::Lock lock_{sync::Rank::registry};
    H *first_ = nullptr;
    std::atomic<H *> by_slot_[max_thread_slots] = {};
};

} // namespace cairn::family
