// SPDX-License-Identifier: MIT
//
// Heap contents: the superblocks of one heap, and what a thread with exclusive access to the heap does with them.
//
// Adds:    malloc, a block of any class, for which an empty bin is filled; check.
// Needs:   BalancedContents; GlobalHeap below.
// Threads: one at a time: the heap's own thread in a long section (sync::Presence), or a visiting thread.
// Errors:  nullptr when the global heap has no superblock.
// Source:  Hoard, sections 3 and 4.
#pragma once

#include <cairn/superblock/free_order.hpp>
#include <cairn/thread/balanced_contents.hpp>
#include <cairn/thread/next_superblock.hpp>

namespace cairn {

template <class Global>
class HeapContents : public BalancedContents<Global> {
    using Base = BalancedContents<Global>;
    using typename Base::Bins;

public:
    constexpr HeapContents() = default;

    /// A block of class c. nullptr: with Growth::after_visits, the caller is to visit heaps and ask again
    /// (next_superblock); with Growth::now, out of memory.
    void *malloc(unsigned c, Growth growth) {
        OwnerLine *s = first_choice(c, Base::bins());
        if (superblock::is_end(s->free) && (s = refill(c, growth)) == nullptr) {
            return nullptr;
        }
        return superblock::pop(s, span_of(s));
    }

    /// The superblock to allocate from: the recent one of the class if it has a free block, else the bin's.
    CAIRN_INLINE OwnerLine *first_choice(unsigned c, const Bins &bins) {
        OwnerLine *const s = Base::holdings().recent().at(c);
        return CAIRN_LIKELY(s != nullptr && !superblock::is_end(s->free)) ? s : bins.at(c);
    }

    /// Checks a superblock whose check is due, and finds its new place. A superblock that was full goes into its
    /// class's bin if the bin's superblock has no block left: next_superblock() would find it first.
    CAIRN_INLINE void check(OwnerLine *s) {
        auto &holdings = Base::holdings();
        holdings.account(s);
        superblock::watch_free_order(s);
        if (s->place == Place::current) {
            return;
        }
        auto &places = holdings.places();
        const bool was_full = s->place == Place::full;
        places.take_out(s);
        if (OwnerLine *const before = Base::bins().at(s->size_class); was_full && is_used_up(before)) {
            Base::bins().fill(s->size_class, s);
            holdings.account(before);
            s = before;
        }
        holdings.put(s);
    }

private:
    /// Whether the superblock of a bin has no block to allocate. False for `nothing_` of an empty bin, which is not
    /// to be put into a list.
    bool is_used_up(const OwnerLine *s) {
        return superblock::is_end(s->free) && s->place == Place::current &&
               s->carved == shared_of(s)->capacity && !superblock::has_remote_frees(s);
    }

    /// Makes the bin of class c able to pop. nullptr: as of malloc().
    CAIRN_NOINLINE OwnerLine *refill(unsigned c, Growth growth) {
        Base::settle();
        Bins &all = Base::bins();
        auto &holdings = Base::holdings();
        if (OwnerLine *const recent = holdings.recent().at(c); recent != nullptr) { // it has no free block
            holdings.recent().forget(recent);
            holdings.relink(recent);
        }
        OwnerLine *s = all.is_empty(c) ? next_superblock(holdings, c, growth) : all.at(c);
        while (s != nullptr && superblock::is_end(s->free) && !replenish(s)) {
            all.hide(c);
            holdings.put(s);
            s = next_superblock(holdings, c, growth);
        }
        if (s != nullptr) {
            s->prefetch_offset = 0; // later frees may have another order
            all.fill(c, s);
        }
        return s;
    }

    /// Fills the empty list of a superblock with remotely freed blocks, else with newly carved ones. False if there
    /// are none.
    bool replenish(OwnerLine *s) {
        if (superblock::has_remote_frees(s)) {
            superblock::collect(s);
        }
        if (superblock::is_end(s->free) && s->carved != shared_of(s)->capacity) {
            Base::carve(s);
        }
        Base::holdings().account(s);
        return !superblock::is_end(s->free);
    }
};

} // namespace cairn
