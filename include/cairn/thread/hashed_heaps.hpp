// SPDX-License-Identifier: MIT
//
// Hashed heaps: a row of heaps with a lock each, and which of them is the calling thread's.
//
// Adds:    mine(), a heap chosen by a hash of the thread's id: a thread has the same heap all its life, and may share
//          it with others.
// Needs:   a heap; a lock.
// Keeps:   each heap and its lock are on cache lines of their own.
// Threads: any; a thread that uses a heap holds its lock.
// Cost:    a hash of a few multiplications.
// Source:  Hoard, section 3, and LKmalloc, section 6, F choose a heap by the thread's id.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/platform/thread_id.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

template <Heap Super, std::size_t Count, LockType L>
class HashedHeaps {
    static_assert(Count > 0, "a thread needs a heap");

public:
    struct alignas(platform::cache_line) Entry {
        Super heap;
        L lock;
    };

    static std::size_t mine() {
        return static_cast<std::size_t>(platform::mix(platform::thread_id()) % Count);
    }

    Entry &operator[](std::size_t i) const { return entries_[i]; }

    /// f(heap) for each heap, with its lock held.
    template <class F>
    void for_each(F f) {
        for (Entry &entry : entries_) {
            const sync::Guard hold(entry.lock);
            f(entry.heap);
        }
    }

    /// For a fork: locks all heaps. The locks inside the heaps come last: heaps may share one of those, and a thread
    /// waits for it with its own heap's lock held.
    void lock_all() {
        for (Entry &entry : entries_) {
            sync::hold_across_fork(entry.lock);
        }
        for (Entry &entry : entries_) {
            sync::lock_heap_across_fork(entry.heap);
        }
    }
    void unlock_all(sync::AfterFork side) {
        for (Entry &entry : entries_) {
            if (side == sync::AfterFork::in_child) {
                sync::begin_heap_in_child(entry.heap);
            }
            sync::unlock_heap_after_fork(entry.heap, side);
            sync::let_go_after_fork(entry.lock);
        }
    }

private:
    mutable Entry entries_[Count];
};

} // namespace cairn
