// SPDX-License-Identifier: MIT
//
// Leaving: how superblocks leave a heap in numbers: when its thread ends, when another thread gets it, when memory is
// short, when the fast paths are to find nothing.
//
// Adds:    check_all; give_partly_filled, for superblocks that are not full; give_noticed, for those with a notice;
//          give_empty, for those without live blocks; give_all.
// Needs:   Holdings, and no superblock in a bin.
// Keeps:   what check_all and give_partly_filled leave has no free block. It waits for an heir, a thread that frees one
//          of these blocks as the first thing it does, until other threads free them.
// Threads: one at a time: the heap's own thread in a long section (sync::Presence), or a thread that has exclusive
//          access to the heap.
// Cost:    some 40 instructions for each superblock, and a lock for each that goes.
// Source:  docs/decisions/heaps-of-ended-threads.md.
#pragma once

#include <cairn/thread/holdings.hpp>

namespace cairn {

/// What stays with a heap whose superblocks go.
enum class Keep : bool { nothing, full };

/// Checks every superblock. Otherwise frees since each one's last check would stay unaccounted until the heap has
/// another thread.
template <class Global>
void check_all(Holdings<Global> &holdings) {
    LineList all;
    while (OwnerLine *const s = holdings.places().any()) {
        holdings.places().take_out(s);
        all.push_front(s);
    }
    while (OwnerLine *const s = all.front()) {
        all.remove(s);
        holdings.relink(s);
    }
}

/// Gives away superblocks that are not full. Those about which a notice is on its way stay: the thread that delivers it
/// sees to them.
template <class Global>
void give_partly_filled(Holdings<Global> &holdings) {
    holdings.watched() = {}; // for the heap's next thread
    holdings.give_each([&] { return holdings.places().emptiest(holdings.places().groups); });
}

/// Processes the notices in the inbox, and gives away their superblocks.
template <class Global>
void give_noticed(Holdings<Global> &holdings) {
    OwnerLine *noticed = holdings.inbox().empty() ? nullptr : holdings.inbox().take();
    holdings.give_each([&] {
        OwnerLine *const s = noticed;
        if (s != nullptr) {
            // relaxed: the inbox's take() has acquired it.
            noticed = remote_of(s)->pending_next.load(std::memory_order_relaxed);
            holdings.take_notice(s);
        }
        return s;
    });
}

/// Gives away all superblocks, but for those about which a notice is on its way.
template <class Global>
void give_all(Holdings<Global> &holdings) {
    holdings.watched() = {};
    holdings.give_each([&] { return holdings.places().any(); });
}

/// Gives away the superblocks without live blocks. False if no superblock went.
template <class Global>
bool give_empty(Holdings<Global> &holdings) {
    const std::size_t before = holdings.held();
    holdings.give_each([&] { return holdings.places().empty(); });
    return holdings.held() != before;
}

} // namespace cairn
