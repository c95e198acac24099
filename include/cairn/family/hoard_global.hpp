// SPDX-License-Identifier: MIT
//
// HoardGlobal: heap 0, where superblocks come from and go to.
//
// Adds:    a superblock for a heap that has no free block of a class; superblocks off a heap that is too empty.
// Needs:   Design; a PageSource, handed in by the caller.
// Keeps:   shed_locked leaves a heap with u >= a - K S or u >= (1 - f) a.
//          A class gets another superblock (an empty one of a different class, or a fresh one) only when neither the
//          thread's heap nor heap 0 has a free block of it: Theorem 1 for several classes rests on this.
// Threads: any that holds the lock of the heap it is about, and not that of heap 0, which is taken here.
// Errors:  nullptr when memory is out.
// Cost:    the lock, and constant time a superblock.
// Source:  Hoard, sections 3.1 and 3.4, Figure 2.
#pragma once

#include <cairn/family/hoard_heap.hpp>
#include <cairn/family/hoard_supply.hpp>

namespace cairn {

/// How often superblocks came and went, and what section 4.2 counts: how often the lock of heap 0 was taken to move one
/// or to free a block of one that it owns.
struct HoardCrossings {
    std::uint64_t fresh = 0;
    std::uint64_t from_global = 0;
    std::uint64_t to_global = 0;
    std::uint64_t live_from_global = 0; ///< blocks that were in use in those that came from heap 0
    std::uint64_t locked = 0;
};

template <class Design>
class HoardGlobal : public HoardHeap<Design> {
public:
    using Superblock = typename Design::Superblock;
    using Heap = HoardHeap<Design>;

    constexpr HoardGlobal() : Heap(sync::Rank::global_heap) {}

    /// Lines 6 to 14. An empty superblock of any class is recycled before a fresh one is asked for.
    template <PageSource Pages>
    CAIRN_NOINLINE Superblock *refill_locked(Pages &pages, Heap &heap, unsigned size_class) {
        const sync::Guard hold(this->lock);
        ++crossings_.locked;
        Heap *from = this;
        Superblock *s = this->fullest_locked(size_class);
        if (s == nullptr && (s = heap.empty_locked(size_class)) != nullptr) {
            from = &heap;
        } else if (s == nullptr) {
            s = this->empty_locked(size_class);
        }
        if (s != nullptr) {
            from->take_out_locked(s);
            if (from == this) {
                ++crossings_.from_global;
                crossings_.live_from_global += s->live;
            }
        } else if ((s = supply_.fresh(pages)) != nullptr) {
            ++crossings_.fresh;
        } else {
            return nullptr;
        }
        if (s->live == 0 && (s->capacity == 0 || s->size_class != size_class)) {
            s->format(size_class, Design::Classes::size_of(size_class));
        }
        heap.take_in_locked(s);
        return s;
    }

    /// Lines 9 to 12, until the invariant holds: one superblock is enough for one class, but mallocs of several
    /// classes may have taken the heap further across the threshold, which only a free looks at.
    /// A superblock of another class goes first than that of the freed block, which the thread is using.
    void shed_locked(Heap &heap, unsigned freed_class) {
        while (CAIRN_UNLIKELY(heap.too_empty_locked())) {
            const sync::Guard hold(this->lock);
            Superblock *const s = heap.mostly_empty_locked(freed_class);
            heap.take_out_locked(s);
            this->take_in_locked(s);
            ++crossings_.to_global;
            ++crossings_.locked;
        }
        if constexpr (platform::checked) {
            heap.check_invariant_locked();
        }
    }

    /// What is known here alone. The lock is not held.
    void report_supply(Statistics &out) {
        const sync::Guard hold(this->lock);
        out.mapped += supply_.mapped();
        out.superblocks_fresh = crossings_.fresh;
        out.superblocks_from_global = crossings_.from_global;
        out.superblocks_to_global = crossings_.to_global;
    }
    HoardCrossings crossings() {
        const sync::Guard hold(this->lock);
        return crossings_;
    }

    /// A block of a superblock of heap 0 was freed.
    void note_freed_locked() { ++crossings_.locked; }

    /// The lock is held, or nobody else is there.
    template <class F>
    void for_each_superblock(F f) {
        supply_.for_each(f);
    }
    template <PageSource Pages>
    void release(Pages &pages) {
        supply_.release(pages);
    }

private:
    HoardSupply<Design::superblock, Design::chunk> supply_;
    HoardCrossings crossings_;
};

} // namespace cairn
