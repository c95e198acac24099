// SPDX-License-Identifier: MIT
//
// Next superblock: where a bin that has run dry gets its next superblock from.
//
// Adds:    the order: the fullest of the heap's own, an empty one of its own, one of the global heap, one made of an empty one
//          of another class there, a new one; out of memory, one of its own that is fuller than is worth a look. Before a new one from memory that
//          nothing has used yet come visits to heaps that hold too much (WantedVisits), which are the caller's to make.
// Needs:   Holdings, and the global heap below.
// Keeps:   what is handed out is in the account, and in no place.
// Threads: the heap's.
// Errors:  nullptr when out of memory, or when visits come first; then it is to be asked once more.
// Cost:    bitmap searches; a lock where the global heap is asked.
// Source:  Hoard, section 3.4 (malloc: heap i, then heap 0, then the operating system).
#pragma once

#include <cairn/thread/holdings.hpp>

namespace cairn {

/// Whether memory that nothing has used yet may be taken while there are heaps to visit.
enum class Growth : bool { after_visits, now };

/// One without live blocks. Where very many heaps share what a few may keep, its blocks are carved when they are needed: visitors give
/// back what is not carved.
template <class Global>
void make_ready(const Holdings<Global> &holdings, OwnerLine *s) {
    constexpr std::size_t very_many = 6; // times as many as may keep all
    if (holdings.share(slot_size) >= slot_size / very_many) {
        superblock::carve_again_if_unordered(s);
    } else {
        superblock::carve_again(s);
    }
}

/// An empty superblock of the heap's, formatted anew if it was of another class. Not while a notice about it is on its way.
template <class Global>
OwnerLine *empty_superblock(Holdings<Global> &holdings, unsigned c) {
    OwnerLine *const s = holdings.places().empty_for(c, Global::Maker::slots_of_class(c));
    if (s == nullptr) {
        return nullptr;
    }
    superblock::take_remote(s); // from here on nobody can queue it
    superblock::carve_again_if_incomplete(s);
    if (RemoteWord{remote_of(s)->word.load(std::memory_order_relaxed)}.queued()) {
        return nullptr;
    }
    holdings.places().take_out(s);
    if (s->size_class == c) {
        make_ready(holdings, s);
        return s;
    }
    holdings.leave(s); // with the class it has other blocks to hold
    holdings.global().change_class(s, c, holdings.number(), holdings.heap());
    holdings.join(s);
    return s;
}

/// Whether a new one takes memory that nothing has used yet, and there are heaps to visit before.
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

/// The last resort: a look at each of them.
template <class Global>
OwnerLine *one_of_the_full(Holdings<Global> &holdings, unsigned c) {
    return holdings.places().take_full([c](const OwnerLine *full) {
        return full->size_class == c &&
               (!superblock::is_end(full->free) || superblock::has_remote_frees(full));
    });
}

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
        if (growth == Growth::after_visits && must_visit_first(global, c)) {
            return nullptr;
        }
        s = global.make_from_run(c, holdings.number(), holdings.heap());
    }
    if (s == nullptr) {
        return growth == Growth::now ? one_of_the_full(holdings, c) : nullptr;
    }
    holdings.join(s);
    return s;
}

} // namespace cairn
