// SPDX-License-Identifier: MIT
//
// Freeing: which way a freed block goes, from the fast path to the path that checks everything.
//
// free() serves a block of the thread's own in a superblock of one slot, inlined. Everything else in a segment goes
// to free_elsewhere() by a tail jump, and everything else to free_slow(). Both are static functions with the pointer
// as first parameter: it stays in the register in which free() got it, so the jump needs no stack frame.
//
// Adds:    free.
// Needs:   Routes.
// Keeps:   a pointer that malloc did not return, or whose block is free already, ends the program with one line.
// Threads: any. A path that needs only the thread's own heap is a section (sync::Presence), which the next path ends.
//          The fast path leaves its hazard word set.
// Errors:  none.
// Cost:    30 instructions for a block of the thread's own in a superblock of one slot, 62 in one of several; no
//          lock, no atomic read-modify-write. A block of another thread's superblock: one compare-exchange.
// Source:  Hoard, section 3: blocks return to the superblock they came from.
#pragma once

#include <cairn/thread/routes.hpp>

namespace cairn {

template <class Classes, class Discipline, class Hooks>
class Freeing : public Routes<Classes, Discipline, Hooks> {
    using Base = Routes<Classes, Discipline, Hooks>;

public:
    using typename Base::Found;
    using typename Base::Heap;

    constexpr Freeing() = default;

    CAIRN_INLINE void free(void *p) {
        const std::uintptr_t block = address_of(p);
        std::uintptr_t low = block;
        if (CAIRN_UNLIKELY(!in_segment(block, low))) {
            return free_slow(p, *this);
        }
        OwnerLine *s = owner_line_at(block, low);
        SharedLine *shared = shared_of(s);
        Heap *const heap = threads_.mine();
        if (is_own(heap, s, shared, heap, block % slot_size, block)) {
            if (CAIRN_UNLIKELY(heap->free_local(s, block))) {
                check(heap, s);
            }
            return;
        }
        free_elsewhere(p, *this);
    }

protected:
    using Base::threads_;

private:
    /// Begins a section on `s`. Whether the superblock is the heap's, so that `mark` is what its owner field holds,
    /// and the block at `offset` is live. If not, the section is still to be ended.
    CAIRN_INLINE static bool is_own(Heap *heap, OwnerLine *&s, SharedLine *&shared, void *mark,
                                    std::size_t offset, std::uintptr_t block) {
        heap->presence().begin(s);
        // acquire: pairs with Notices::own(): what a visiting thread did with the superblock is seen.
        return CAIRN_LIKELY(platform::is_now(shared->owner, mark, std::memory_order_acquire, s, shared) &&
                            superblock::is_block_start(shared, offset) &&
                            !superblock::may_be_free(block, shared));
    }

    /// A block of one of the thread's own superblocks of several slots, of another thread's superblock, of the global
    /// heap, or a large block. Everything else goes on to free_slow().
    CAIRN_NOINLINE static void free_elsewhere(void *p, Freeing &self) {
        const std::uintptr_t block = address_of(p);
        if (CAIRN_UNLIKELY(!self.threads_.serves_frees())) {
            return free_slow(p, self);
        }
        Heap *const heap = self.threads_.mine();
        SharedLine *shared = shared_line_at(block);
        // relaxed: the owner's value decides only which way to try; is_own() loads it again.
        if (shared->owner.load(std::memory_order_relaxed) == Heap::Notice::hidden(heap)) {
            OwnerLine *s = owner_line_of(first_line(shared));
            if (CAIRN_LIKELY(!heap->presence().fenced()) &&
                is_own(heap, s, shared, Heap::Notice::hidden(heap), block - shared->first_block, block)) {
                const bool due = heap->free_medium(s, block);
                if (CAIRN_UNLIKELY(due)) {
                    self.check(heap, s);
                }
                return;
            }
        } else if (OwnerLine *const s = superblock::quick_find_at(shared, block)) {
            // Meanwhile a visiting thread may have put the superblock back into this heap, or another thread may have
            // acquired it. The remote way is right for any superblock.
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

    /// A hint: the heap of a superblock with a live block, which may be another thread's by now. Heaps are never
    /// unmapped.
    static Heap *owner_of(const OwnerLine *s) {
        return const_cast<Heap *>(static_cast<const Heap *>(
            Heap::Notice::heap_of(shared_of(s)->owner.load(std::memory_order_relaxed))));
    }

    /// A null pointer; the first free of a thread, which gets a heap; a free in a heap without short sections; huge
    /// blocks; blocks that look free.
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

    /// Frees a block that quick_find() did not take for a live one, or that has left `heap` meanwhile. Ends the
    /// program if it is not live.
    CAIRN_NOINLINE void free_checked(void *p, Heap *heap) {
        OwnerLine *const s = superblock::superblock_at(address_of(p));
        if (s == nullptr) {
            return free_long(superblock::find_long(p, "free of"), p, heap);
        }
        superblock::check_live(s, p, "free of", this->levels_);
        free_of_others(s, address_of(p), heap);
    }

    /// Frees a large or huge block.
    CAIRN_NOINLINE void free_long(const Found &found, void *p, Heap *heap) {
        if (this->levels_.long_blocks().free(found, p, heap->holdings().number())) {
            this->handle_surplus();
        }
    }

    /// Frees a block of any superblock by the remote way.
    void free_of_others(OwnerLine *s, std::uintptr_t block, Heap *heap) {
        cairn::free_remote(*heap, s, block, Telling{*this});
    }
    /// What free_remote() leaves to do, and what it does when a chain begins.
    struct Telling {
        Freeing &self;
        void operator()(const Gathering::Left &left) const { self.tell(left); }
        void begun() const { note_return(self.threads_.mine()->attendance); }
    };

    /// The check of a superblock is due.
    CAIRN_NOINLINE void check(Heap *heap, OwnerLine *s) {
        if (heap->check(s)) {
            this->handle_surplus();
            note_return(heap->attendance);
        }
    }
    /// Reports the return of a thread whose absence was reported.
    static void note_return(Attendance &attendance) {
        if (attendance.take_missed()) {
            Hooks::returned();
        }
    }
};

} // namespace cairn
