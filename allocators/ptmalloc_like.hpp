// SPDX-License-Identifier: MIT
//
// Like Ptmalloc: Lea's allocator in arenas with a lock each. A thread takes the first arena that is not locked,
// beginning with the one it had last, and makes a new one when all are; a freed block goes back to its arena; arenas
// stay. An arena is, read from the source of memory upward:
//
//   StretchSource  stretches of 1 MiB, which name their arena
//   Coalesceable   and the rest of lea.hpp
//
// Source: LKmalloc, section 7, item 5; Hoard, section 6.1 and Table 7: fast where threads do not meet; wastes memory
// with each arena that a conflict made, O(P) blowup; threads that share an arena share its cache lines (active false
// sharing).
#pragma once

#include <allocators/lea.hpp>

#include <cairn/family/arena_heap.hpp>

namespace cairn {

struct PtmallocLikeParameters : LeaParameters {
    static constexpr std::size_t growth = 32_KiB; ///< an arena's, of its stretch
    using ArenaLock = RankedLock<sync::Rank::owner>;
    using ArenaHeap = Compose<family::StretchSource, Coalesceable<growth>, Seg<Bins>, Coalesce,
                              Threshold<LeaQuicklists<LeaParameters>, consolidate_from>>;
};

template <class P = PtmallocLikeParameters>
using PtmallocLike = family::ArenaHeap<P>;

} // namespace cairn
