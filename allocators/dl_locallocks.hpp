// SPDX-License-Identifier: MIT
//
// DLmalloc with local locks: Lea's allocator with a lock on each of its 128 free lists and no other lock, as "Memory
// Allocation for Long-Running Server Applications" (Larson and Krishnan, ISMM 1998), section 7, compares itself with.
// LKmalloc with one arena, Lea's order of the lists, and memory that is kept; docs/family.md says what that leaves out.
#pragma once

#include <allocators/lkmalloc.hpp>

namespace cairn {

struct DlLocallocksParameters : LkmallocParameters {
    /// One arena that all threads share.
    static constexpr unsigned subheaps = 1;
    /// Lists of one size are queues, the others sorted (section 6, C, of Lea's).
    using List = lkmalloc::BySize;
    /// Lea's gives memory back at the end of its arena only.
    static constexpr std::size_t decommit_over_pages = lkmalloc::never;
};

template <class Parameters = DlLocallocksParameters>
using DlLocallocks = LkmallocHeap<Parameters>;

} // namespace cairn
