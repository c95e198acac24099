// SPDX-License-Identifier: MIT
//
// Freeing: which way a freed block goes, from the quickest to the one that asks everything.
//
// Adds:    free.
// Needs:   Routes.
// Keeps:   a pointer that malloc did not return, or that is free already, stops the program with one line.
// Threads: any. A way that needs no more than the thread's own heap is a section (sync::Presence), which the next way ends. The quickest
//          leaves its mark, where the superblock is not long.
// Errors:  none.
// Cost:    30 instructions for a block of the thread's own in a superblock of one slot, 54 in one of several; no lock, no atomic
//          read-modify-write. Others': one compare-exchange.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/thread/routes.hpp>

namespace cairn {

template <class Classes, class Discipline, class Hooks>
class Freeing : public Routes<Classes, Discipline, Hooks> {
    using Base = Routes<Classes, Discipline, Hooks>;

public:
    using typename Base::Heap;

    constexpr Freeing() = default;

    CAIRN_INLINE void free(void *p) {
        const std::uintptr_t block = address_of(p);
        std::uintptr_t low = block;
        if (CAIRN_UNLIKELY(!in_segment(block, low))) {
            return free_slow(p, *this);
        }
        OwnerLine *const s = owner_line_at(block, low);
        SharedLine *const shared = shared_of(s);
        Heap *const heap = threads_.mine();
        if (is_own(heap, s, shared, heap, block % slot_size, block)) {
            if (CAIRN_UNLIKELY(heap->free_local(s, block))) {
                this->check(heap, s);
            }
            return;
        }
        free_elsewhere(p, *this);
    }

protected:
    using Base::threads_;

private:
    /// Begins a section on `s`. Whether that is the heap's, `mark` being what its owner is then, and the block may be freed; if not,
    /// the section is still to be ended.
    CAIRN_INLINE static bool is_own(Heap *heap, OwnerLine *s, SharedLine *shared, void *mark,
                                    std::size_t offset, std::uintptr_t block) {
        heap->presence().begin(s);
        // acquire: pairs with Notices::own(): what a visitor did with the superblock is seen.
        return CAIRN_LIKELY(platform::is_now(shared->owner, mark, std::memory_order_acquire) &&
                            superblock::is_block_start(shared, offset) &&
                            !superblock::may_be_free(block, shared));
    }

    /// A block of a superblock of the thread's own that has several slots, or that is another thread's, or nobody's; whatever else in a
    /// segment it may be goes on. It needs no stack frame. Static, both, so that the pointer is where free() got it.
    CAIRN_NOINLINE static void free_elsewhere(void *p, Freeing &self) {
        const std::uintptr_t block = address_of(p);
        if (CAIRN_UNLIKELY(!self.threads_.serves_frees())) {
            return free_slow(p, self);
        }
        Heap *const heap = self.threads_.mine();
        SharedLine *const shared = shared_line_at(block);
        // relaxed: as in superblock::quick_find()
        if (shared->owner.load(std::memory_order_relaxed) == Heap::Notice::hidden(heap)) {
            OwnerLine *const s = owner_line_of(first_line(shared));
            if (CAIRN_LIKELY(!heap->presence().fenced()) &&
                is_own(heap, s, shared, Heap::Notice::hidden(heap), block - shared->first_block, block)) {
                const bool due = heap->free_local(s, block);
                heap->presence().end();
                if (CAIRN_UNLIKELY(due)) {
                    self.check(heap, s);
                }
                return;
            }
        } else if (OwnerLine *const s = superblock::quick_find_at(shared, block)) {
            // A visitor may have put it back into this heap meanwhile, or a thread taken it: the remote way is right for any superblock.
            if (!join_chain(*heap, s, block)) {
                self.free_of_others(s, block, heap);
            }
            return;
        } else if (OwnerLine *const run = superblock::quick_find_large(shared, block)) {
            heap->presence().end();
            return self.free_long({superblock::Found::large, run}, p, heap);
        }
        free_slow(p, self);
    }

    /// A hint: the heap of a superblock with a live block, which may be another thread's by now. Heaps are never unmapped.
    static Heap *owner_of(const OwnerLine *s) {
        return const_cast<Heap *>(static_cast<const Heap *>(
            Heap::Notice::heap_of(shared_of(s)->owner.load(std::memory_order_relaxed))));
    }

    CAIRN_NOINLINE static void free_slow(void *p, Freeing &self) {
        self.threads_.mine()->presence().end();
        if (p == nullptr) {
            return;
        }
        const std::uintptr_t block = address_of(p);
        OwnerLine *const s = superblock::quick_find(block);
        Heap *const heap = self.threads_.heap_for_frees(s != nullptr ? owner_of(s) : nullptr);
        if (s != nullptr) {
            if (!heap->owns(s)) {
                return self.free_of_others(s, block, heap);
            }
            bool due = false;
            if (heap->free_inside(s, block, due)) {
                if (due) {
                    self.check(heap, s);
                }
                return;
            }
        }
        self.free_checked(p, heap);
    }
};

} // namespace cairn
