// SPDX-License-Identifier: MIT
//
// Visit policy: how much free memory a visit leaves in a heap, and which superblocks leave its bins.
//
// Adds:    SettlingVisit, RetiringVisit; each with too_empty, of accounted and touched bytes: whether superblocks are
//          to go; leaves_bin, whether a superblock of a bin may go; all_bins, whether bins are emptied although the
//          heap is not too empty without them.
// Needs:   a heap with holdings() and a Discipline.
// Threads: the visiting thread.
// Cost:    a few instructions.
// Source:  Hoard, section 3.1, for the first; docs/decisions/inactive-heaps.md for the second.
#pragma once

#include <cairn/run/descriptor.hpp>

#include <cstddef>

namespace cairn {

/// As the owner in a slow path: the emptiness invariant. Superblocks with live blocks leave their bins only where the
/// heap has very much free.
template <class Heap>
struct SettlingVisit {
    Heap &heap;
    std::size_t bins_may; ///< bytes that the superblocks of all bins may have free
    static constexpr bool all_bins = false;

    static bool too_empty(std::size_t used, std::size_t held) {
        return Heap::Discipline::too_empty(used, held);
    }
    bool leaves_bin(const OwnerLine *s) const {
        return s->accounted == 0 || heap.holdings().overdraft() > bins_may;
    }
};

/// For an inactive heap: little may stay free, in bins or not.
struct RetiringVisit {
    std::size_t slack; ///< bytes that the heap may have free
    static constexpr bool all_bins = true;

    bool too_empty(std::size_t used, std::size_t held) const { return held > used + slack; }
    static bool leaves_bin(const OwnerLine *) { return true; }
};

} // namespace cairn
