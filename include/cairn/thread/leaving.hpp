// SPDX-License-Identifier: MIT
//
// Leaving: what becomes of a heap's superblocks when its thread ends.
//
// Adds:    check_all, and give_movable: superblocks that are at least f empty go to the global heap. The others wait for the heap's next
//          thread, which often has their blocks, and frees them as its own.
// Needs:   Holdings, and no superblock in a bin.
// Keeps:   the emptiness invariant: what stays is what a visit would leave.
// Threads: one at a time: the heap's own, inside (sync::Presence), or whoever has the heap to itself.
// Cost:    some 40 instructions for each superblock, and a lock for each that goes.
// Source:  docs/decisions/heaps-of-ended-threads.md.
#pragma once

#include <cairn/thread/holdings.hpp>

namespace cairn {

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

/// Whether some that should go had to stay, as a notice about them is on its way.
template <class Global>
bool give_movable(Holdings<Global> &holdings) {
    holdings.watched() = {}; // the heap's next thread begins anew
    return holdings.give_each([&] { return holdings.places().emptiest(holdings.movable); });
}

} // namespace cairn
