// SPDX-License-Identifier: MIT
//
// ThreadPrivateHeap: pure private heaps. A thread allocates from its heap and frees to its heap, whichever heap the
// block came from.
//
// Adds:    use by any thread; threads do not contend while there are more heaps than threads.
// Needs:   a heap that takes blocks of another heap of its type (TakesOthers): free lists over a source that all
//          heaps share (Unique on Locked, MallocHeap), or over sources of their own that clear() gives back. A heap
//          that joins blocks or gives regions back (CoalesceHeap, MmapHeap) does not; it can be used below
//          ThreadOwnedHeap. getSize where blocks hold their sizes.
// Keeps:   no block is handed out twice. The destructor first clears all heaps where they can be cleared, since the
//          free list of one heap may lie in memory of another.
// Threads: any.
// Errors:  nullptr when the thread's own heap is out of memory; free memory in the other heaps is not used.
// Cost:    a hash and a lock that is rarely contended. A block that one thread allocates and another frees stays with
//          the second: memory may grow without bound (Hoard, section 2.2), and blocks of two threads share cache
//          lines.
// Source:  Heap Layers, Table 1: ThreadHeap; Hoard, section 6.1: pure private heaps.
#pragma once

#include <cairn/thread/hashed_heaps.hpp>

namespace cairn {

template <TakesOthers Super, std::size_t Count = 16, LockType L = RankedLock<>>
class ThreadPrivateHeap {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = true;

    ThreadPrivateHeap() = default;
    ThreadPrivateHeap(const ThreadPrivateHeap &) = delete;
    ThreadPrivateHeap &operator=(const ThreadPrivateHeap &) = delete;

    ~ThreadPrivateHeap() {
        if constexpr (ClearableHeap<Super>) {
            clear();
        }
    }

    void *malloc(std::size_t size) {
        return with_mine([&](Super &heap) { return heap.malloc(size); });
    }

    void free(void *p) {
        with_mine([&](Super &heap) { heap.free(p); });
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return with_mine([&](Super &heap) { return heap.memalign(wanted, size); });
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return with_mine([&](Super &heap) { return heap.malloc_zeroed(size); });
    }

    static std::size_t getSize(void *p)
        requires SelfSizedHeap<Super>
    {
        return Super::getSize(p);
    }

    /// To call while no other thread uses any of the heaps.
    void clear()
        requires ClearableHeap<Super>
    {
        heaps_.for_each([](Super &heap) { heap.clear(); });
    }

    void lock_all() { heaps_.lock_all(); }
    void unlock_all(sync::AfterFork side) { heaps_.unlock_all(side); }

private:
    template <class F>
    auto with_mine(F f) {
        auto &mine = heaps_[heaps_.mine()];
        const sync::Guard hold(mine.lock);
        return f(mine.heap);
    }

    HashedHeaps<Super, Count, L> heaps_;
};

template <std::size_t Count = 16, class L = RankedLock<>>
struct ThreadPrivate {
    template <class Super>
    using on = ThreadPrivateHeap<Super, Count, L>;
};

} // namespace cairn
