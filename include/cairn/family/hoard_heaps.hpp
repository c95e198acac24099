// SPDX-License-Identifier: MIT
//
// HoardHeaps: heap 0 for all, heaps 1 to 2P for the threads, and whose lock is taken when.
//
// Adds:    malloc of a size class, free of a superblock's block; accounts, checks and locks of all heaps.
// Needs:   Design (what HoardDesign makes of the parameters); a PageSource, handed in by the caller.
// Keeps:   after every free the heap that owned the block, if it is not heap 0, has u >= a - K S or u >= (1 - f) a.
//          Locks are taken in this order: superblock, one of heaps 1 to 2P, heap 0. Who holds the lock of a
//          superblock's owner, and nobody else, changes the superblock and its owner.
// Threads: any. The heaps come into being at the first call, of whatever thread.
// Errors:  nullptr when memory is out.
// Cost:    one lock for malloc, two for free, one more where a superblock is needed or moves.
// Source:  Hoard, sections 3 and 3.4, Figure 2. That the owner may change before its lock is held: Wen and Deng,
//          "CSC469 A2 Report", section 2.4, who count references; to look again needs none.
#pragma once

#include <cairn/family/hoard_global.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/platform/thread_id.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

template <class Design>
class CAIRN_BY_CHECKS HoardHeaps { // lock_owner() takes a lock for its caller
public:
    using Superblock = typename Design::Superblock;
    using Heap = HoardHeap<Design>;

    constexpr HoardHeaps() = default;

    template <PageSource Pages>
    void *malloc(Pages &pages, unsigned size_class) {
        Heap *const heap = of_this_thread(pages); // line 2
        if (CAIRN_UNLIKELY(heap == nullptr)) {
            return nullptr;
        }
        const sync::Guard hold(heap->lock);
        Superblock *s = heap->fullest_locked(size_class);
        if (CAIRN_UNLIKELY(s == nullptr)) {
            s = global_.refill_locked(pages, *heap, size_class);
        }
        return CAIRN_LIKELY(s != nullptr) ? heap->malloc_locked(s) : nullptr;
    }

    void free(Superblock *s, void *p) {
        const sync::Guard hold(s->lock); // line 3
        Heap &heap = lock_owner(s);
        heap.free_locked(s, p);
        if (&heap != &global_) {
            global_.shed_locked(heap, s->size_class);
        } else {
            global_.note_freed_locked();
        }
        heap.lock.unlock();
    }

    /// For the thread that forks. The child has no other thread, but the locks of superblocks that others had on their
    /// way to a heap's lock.
    void lock_all() {
        for (;;) {
            Heap *const known = heaps_.load(std::memory_order_acquire); // pairs with the release in set_up
            for_each_of(known, [](Heap &heap) { heap.lock.hold_across_fork(); });
            global_.lock.hold_across_fork();
            if (known == heaps_.load(std::memory_order_relaxed)) { // changes under the lock of heap 0 only
                return;
            }
            release_all(known);
        }
    }
    void unlock_all(sync::AfterFork side) {
        if (side == sync::AfterFork::in_child) {
            global_.for_each_superblock([](Superblock &s) { s.lock.reset_after_fork(); });
        }
        release_all(heaps_.load(std::memory_order_relaxed)); // changes under the lock of heap 0 only
    }

    /// f(heap) for heap 0 and, from the first malloc on, heaps 1 to 2P in this order.
    template <class F>
    void for_each(F f) {
        f(global_);
        Heap *const heaps = heaps_.load(std::memory_order_acquire); // pairs with the release in set_up
        for_each_of(heaps, f);
    }

    void report(Statistics &out) {
        for_each([&](Heap &heap) {
            heap.report(out);
            if (&heap != &global_) {
                out.heaps += heap.account().superblocks != 0 ? 1u : 0u;
                out.metadata += sizeof(Heap);
            }
        });
        global_.report_supply(out);
    }

    /// Gives everything back; no other call is under way.
    template <PageSource Pages>
    void release(Pages &pages) {
        if (Heap *const heaps = heaps_.exchange(nullptr, std::memory_order_relaxed)) {
            pages.unmap(heaps, count_ * sizeof(Heap));
        }
        global_.release(pages);
    }

private:
    template <PageSource Pages>
    Heap *of_this_thread(Pages &pages) {
        Heap *heaps = heaps_.load(std::memory_order_acquire); // pairs with the release in set_up
        if (CAIRN_UNLIKELY(heaps == nullptr) && (heaps = set_up(pages)) == nullptr) {
            return nullptr;
        }
        const std::uint64_t hash = platform::mix(platform::thread_id()) >> 32;
        return &heaps[hash * count_ >> 32];
    }

    template <PageSource Pages>
    CAIRN_COLD Heap *set_up(Pages &pages) {
        const sync::Guard hold(global_.lock);
        Heap *heaps = heaps_.load(std::memory_order_relaxed); // changes under this lock only
        if (heaps == nullptr) {
            count_ = Design::heaps();
            heaps = static_cast<Heap *>(pages.map(count_ * sizeof(Heap), alignof(Heap)));
            for (unsigned i = 0; heaps != nullptr && i < count_; ++i) {
                new (&heaps[i]) Heap(sync::Rank::thread_heap);
            }
            heaps_.store(heaps,
                         std::memory_order_release); // pairs with the acquires of whoever looks for a heap
        }
        return heaps;
    }

    /// Line 4. Between the look at the owner and the lock the superblock may have moved: then once more.
    Heap &lock_owner(Superblock *s) {
        for (;;) {
            HoardOwner *const owner = s->owner.load(std::memory_order_relaxed); // see HoardHeader::owner
            owner->lock.lock();
            if (s->owner.load(std::memory_order_relaxed) == owner) {
                return static_cast<Heap &>(*owner);
            }
            owner->lock.unlock();
        }
    }

    void release_all(Heap *heaps) {
        global_.lock.let_go_after_fork();
        for_each_of(heaps, [](Heap &heap) { heap.lock.let_go_after_fork(); });
    }

    template <class F>
    void for_each_of(Heap *heaps, F f) {
        for (unsigned i = 0; heaps != nullptr && i < count_; ++i) {
            f(heaps[i]);
        }
    }

    std::atomic<Heap *> heaps_{nullptr}; ///< heaps 1 to 2P
    unsigned count_ = 0;                 ///< written before heaps_
    HoardGlobal<Design> global_;
};

} // namespace cairn
