// SPDX-License-Identifier: MIT
//
// LKmalloc, as "Memory Allocation for Long-Running Server Applications" (Larson and Krishnan, ISMM 1998) has it,
// section 6. From the operating system upward:
//
//   Mappings      stripes of 4 MiB, and who owns which; longer blocks
//   FreeLists     128 lists of free blocks, a lock each and no other lock
//   Subheap       approximate best fit, coalescing at once, pages committed and decommitted
//   LkmallocHeap  ten subheaps, a thread's by a hash of its id
//
// docs/lkmalloc.md says why it is right; docs/family.md what differs from the document.
#pragma once

#include <cairn/family/lkmalloc_heap.hpp>

namespace cairn {

struct LkmallocParameters {
    /// "Slightly higher than the number of processors is a reasonable first heuristic" (E); 10 is the version that the
    /// document measures as "LKmalloc 10".
    static constexpr unsigned subheaps = 10;
    /// Of blocks, and the distance of sizes. The document has 8 (A).
    static constexpr std::size_t alignment = 16;
    /// The first half of them hold one size each (A).
    static constexpr unsigned bins = 128;
    /// The order of a list: last in, first out, and long blocks unsorted (C).
    using List = lkmalloc::LastFreedFirst;
    /// Looks at a lock before the waiting thread yields (D).
    static constexpr unsigned spins = 4000;
    /// How an arena grows and shrinks (G).
    static constexpr std::size_t stripe = 4_MiB;
    /// A free block over so many pages has them decommitted (G).
    static constexpr std::size_t decommit_over_pages = 2;
    /// A subheap returns a stripe that is free unless it has no more than this. The document does not say when.
    static constexpr std::size_t kept_stripes = 1;
};

template <class Parameters = LkmallocParameters>
using Lkmalloc = LkmallocHeap<Parameters>;

static_assert(AlignedHeap<Lkmalloc<>> && SizedHeap<Lkmalloc<>> && ZeroingHeap<Lkmalloc<>>);

} // namespace cairn
