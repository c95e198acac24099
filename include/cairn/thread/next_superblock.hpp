// SPDX-License-Identifier: MIT
//
// Next superblock: where an empty bin gets its next superblock from.
//
// Adds:    the order: the fullest of the heap's own; one of its own without live blocks; one of the global heap; one
//          made of a superblock of another class in the global heap that has no live blocks; one of the heap's own that
//          was taken for full, since frees were not counted yet; a new one. Before a new one of fresh memory come
//          visits to heaps that have too much free (WantedVisits), which the caller makes.
// Needs:   Holdings, and the global heap below.
// Keeps:   the superblock is in the heap's account, and in no list.
// Threads: the heap's own.
// Errors:  nullptr: see next_superblock().
// Cost:    bitmap searches; a lock where the global heap is asked.
// Source:  Hoard, section 3.4 (malloc: heap i, then heap 0, then the operating system).
#pragma once

#include <cairn/thread/holdings.hpp>

#include <climits>

namespace cairn {

/// At how many superblocks that count as full a heap looks before it makes a new one.
inline constexpr unsigned looks_before_growth = 4;

/// Whether fresh memory may be taken while there are heaps to visit. after_visits: no; the answer is then nullptr, as
/// when out of memory, and the caller does the same for both: it visits heaps, and asks again with `now`, for which
/// nullptr means out of memory.
enum class Growth : bool { after_visits, now };

/// Makes a superblock without live blocks ready to be allocated from. Where the heaps have less than a sixth of the
/// usual limits, its blocks are carved when they are needed: visiting threads purge what is uncarved.
template <class Global>
void make_ready(const Holdings<Global> &holdings, OwnerLine *s) {
    constexpr std::size_t very_many = 6; // times as many heaps as may keep all of a limit
    if (holdings.share(slot_size) >= slot_size / very_many) {
        superblock::carve_again_if_unordered(s);
    } else {
        superblock::carve_again(s);
    }
}

/// A superblock of the heap's own without live blocks, formatted if it was of another class. nullptr if there is
/// none, or while a notice about it is on its way.
template <class Global>
OwnerLine *empty_superblock(Holdings<Global> &holdings, unsigned c) {
    OwnerLine *const s = holdings.places().empty_for(c, Global::Maker::slots_of_class(c));
    if (s == nullptr) {
        return nullptr;
    }
    superblock::take_remote(s); // from here on no thread can queue it
    superblock::carve_again_if_incomplete(s);
    if (RemoteWord{remote_of(s)->word.load(std::memory_order_relaxed)}.queued()) {
        return nullptr;
    }
    holdings.places().take_out(s);
    if (s->size_class == c) {
        make_ready(holdings, s);
        return s;
    }
    holdings.leave(s); // another class has another number of bytes in blocks
    holdings.global().change_class(s, c, holdings.number(), holdings.heap());
    holdings.join(s);
    return s;
}

/// Whether a new superblock would take fresh memory, and there are heaps to visit before. Makes superblocks without
/// live blocks free runs where the class needs several slots: these may join to one that is long enough.
template <class Global>
bool must_visit_first(Global &global, unsigned c) {
    if (CAIRN_LIKELY(global.notices().wanted_visits().empty())) {
        return false;
    }
    if (Global::Maker::slots_of_class(c) == 1) {
        return global.free_bytes() < slot_size && global.maker().would_grow(c);
    }
    global.make_room(SIZE_MAX);
    return !global.maker().has_used_run(c) && global.maker().would_grow(c);
}

/// A superblock of the class that was taken for full and has a free block, among the next few of these.
template <class Global>
OwnerLine *one_of_the_full(Holdings<Global> &holdings, unsigned c) {
    return holdings.places().take_full(c, looks_before_growth, [](const OwnerLine *full) {
        return !superblock::is_end(full->free) || superblock::has_remote_frees(full);
    });
}

/// The same among all of them. Where there is none, the next free in each will move it to another list, so the next
/// call need not look at it.
template <class Global>
CAIRN_COLD OwnerLine *any_of_the_full(Holdings<Global> &holdings, unsigned c) {
    OwnerLine *const s = holdings.places().take_full(c, UINT_MAX, [](OwnerLine *full) {
        return !superblock::is_end(full->free) || Global::Notice::tell_of_next_free(full);
    });
    if (s == nullptr) {
        holdings.places().set_full_aside(c);
    }
    return s;
}

/// A superblock of class c with a free or uncarved block. nullptr: with Growth::after_visits, fresh memory would be
/// taken before visits, or there is none; with Growth::now, out of memory.
template <class Global>
OwnerLine *next_superblock(Holdings<Global> &holdings, unsigned c, Growth growth) {
    if (OwnerLine *s = holdings.places().take_fullest(c)) {
        return s;
    }
    if (OwnerLine *s = empty_superblock(holdings, c)) {
        return s;
    }
    Global &global = holdings.global();
    OwnerLine *s = global.acquire(c, holdings.number(), holdings.heap());
    if (s != nullptr && s->accounted == 0) {
        make_ready(holdings, s);
    }
    if (s == nullptr) {
        s = global.make_from_empty(c, holdings.number(), holdings.heap());
    }
    if (s == nullptr) {
        if (OwnerLine *const full = one_of_the_full(holdings, c)) {
            return full;
        }
        if (growth == Growth::after_visits && must_visit_first(global, c)) {
            return nullptr;
        }
        s = global.make_from_run(c, holdings.number(), holdings.heap());
    }
    if (s == nullptr) {
        return growth == Growth::now ? any_of_the_full(holdings, c) : nullptr;
    }
    holdings.join(s);
    return s;
}

} // namespace cairn
