// SPDX-License-Identifier: MIT
//
// Leaving: what becomes of a heap's superblocks when its thread ends.
//
// Adds:    give_all. check_all and give_partly_filled: all superblocks go to the global heap but for full ones, which wait for an heir, a
//          thread that frees one of their blocks as the first thing it does. give_noticed: these go when other threads free them.
// Needs:   Holdings, and no superblock in a bin.
// Keeps:   what stays has no free block, as accounted.
// Threads: one at a time: the heap's own, inside (sync::Presence), or whoever has the heap to itself.
// Cost:    some 40 instructions for each superblock, and a lock for each that goes.
// Source:  docs/decisions/heaps-of-ended-threads.md.
#pragma once

#include <cairn/thread/holdings.hpp>

namespace cairn {

/// What stays with a heap whose superblocks go.
enum class Keep : bool { nothing, full };

/// Accounts for every superblock: what the thread has freed since the last check of each is unknown otherwise until the heap has another
/// thread.
template <class Global>
void check_all(Holdings<Global> &holdings) {
    LineList all;
    while (OwnerLine *const s = holdings.places().any()) {
        holdings.places().take_out(s);
        all.push_front(s);
    }
    while (OwnerLine *const s = all.front()) {
        all.remove(s);
        holdings.place_anew(s);
    }
}

/// Whether some that should go had to stay, as a notice about them is on its way: the thread that delivers it sees to them.
template <class Global>
bool give_partly_filled(Holdings<Global> &holdings) {
    holdings.watched() = {}; // the heap's next thread begins anew
    return holdings.give_each([&] { return holdings.places().emptiest(holdings.places().groups); });
}

/// Of all; whether some had to stay.
template <class Global>
bool give_all(Holdings<Global> &holdings) {
    holdings.watched() = {};
    return holdings.give_each([&] { return holdings.places().any(); });
}

/// Those about which other threads have sent a notice.
template <class Global>
void give_noticed(Holdings<Global> &holdings) {
    OwnerLine *noticed = holdings.inbox().take();
    holdings.give_each([&] {
        OwnerLine *const s = noticed;
        if (s != nullptr) {
            noticed =
                remote_of(s)->pending_next.load(std::memory_order_relaxed); // relaxed: acquired by take()
            holdings.take_notice(s);
        }
        return s;
    });
}

} // namespace cairn
