// SPDX-License-Identifier: MIT
//
// ThreadOwnedHeap: private heaps with ownership. A thread allocates from its heap. A block goes back to the heap that
// it came from, whichever thread frees it.
//
// Adds:    use by any thread; threads contend only where one frees a block that another has allocated. getSize,
//          memalign, malloc_zeroed and clear where the heap below has them.
// Needs:   a heap.
// Keeps:   each heap gets only its own blocks back. A header before each block names its heap.
// Threads: any. clear: while no other thread uses the heap.
// Errors:  nullptr when the thread's own heap is out of memory; free memory in the other heaps is not used.
// Cost:    a hash, a lock that is rarely contended, 16 bytes a block (for memalign as many as the alignment). A
//          heap's free blocks are used by its own threads only: memory may grow to what one heap would need times the
//          number of heaps (Hoard, section 2.2).
// Source:  Heap Layers, Table 1: PHOThreadHeap; Hoard, section 6.1: private heaps with ownership.
#pragma once

#include <cairn/thread/hashed_heaps.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super, std::size_t Count = 16, LockType L = RankedLock<>>
class ThreadOwnedHeap {
    struct alignas(quantum) Header {
        std::size_t owner;
        std::size_t before; ///< bytes from the start of the block below to the block
    };
    static_assert(alignment_of<Super> >= alignof(Header), "blocks below must be aligned for the header");

public:
    static constexpr std::size_t alignment = quantum;

    void *malloc(std::size_t size) {
        return take(sizeof(Header), size, [](Super &heap, std::size_t n) { return heap.malloc(n); });
    }

    void free(void *p) {
        auto &owner = owner_of(p);
        const sync::Guard hold(owner.lock);
        owner.heap.free(start_of(p));
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        const std::size_t step = std::max(wanted, sizeof(Header));
        return take(step, size, [=](Super &heap, std::size_t n) { return heap.memalign(step, n); });
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return take(sizeof(Header), size, [](Super &heap, std::size_t n) { return heap.malloc_zeroed(n); });
    }

    std::size_t getSize(void *p) const
        requires SizedHeap<Super>
    {
        auto &owner = owner_of(p);
        const sync::Guard hold(owner.lock);
        return owner.heap.getSize(start_of(p)) - header_of(p).before;
    }

    void clear()
        requires ClearableHeap<Super>
    {
        heaps_.for_each([](Super &heap) { heap.clear(); });
    }

    void lock_all() { heaps_.lock_all(); }
    void unlock_all(sync::AfterFork side) { heaps_.unlock_all(side); }

private:
    static Header &header_of(void *p) { return static_cast<Header *>(p)[-1]; }
    static void *start_of(void *p) { return static_cast<unsigned char *>(p) - header_of(p).before; }
    auto &owner_of(void *p) const { return heaps_[header_of(p).owner]; }

    template <class F>
    void *take(std::size_t before, std::size_t size, F from_below) {
        if (CAIRN_UNLIKELY(size > SIZE_MAX - before)) {
            return nullptr;
        }
        const std::size_t mine = heaps_.mine();
        unsigned char *start = nullptr;
        {
            auto &entry = heaps_[mine];
            const sync::Guard hold(entry.lock);
            start = static_cast<unsigned char *>(from_below(entry.heap, before + size));
        }
        if (CAIRN_UNLIKELY(start == nullptr)) {
            return nullptr;
        }
        header_of(start + before) = {mine, before};
        return start + before;
    }

    HashedHeaps<Super, Count, L> heaps_;
};

template <std::size_t Count = 16, class L = RankedLock<>>
struct ThreadOwned {
    template <class Super>
    using on = ThreadOwnedHeap<Super, Count, L>;
};

} // namespace cairn
