// SPDX-License-Identifier: MIT
//
// Lea's allocator (2.7.0), as Heap Layers, sections 2.1 and 6.2 and Figure 7 model it: little memory at good speed.
// Read from the source of memory upward:
//
//   Source         memory at the program break
//   Coalesceable   boundary tags
//   Seg            free blocks in bins that are close together: nearly best fit
//   Coalesce       splitting, and joining of free neighbours at once
//   Threshold      quicklists for small blocks, which are joined when a request is large enough to profit
//   SelectMapped   large blocks in mappings of their own
//   Locked         in the form for many threads: a lock
#pragma once

#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

struct LeaParameters {
    using Source = SbrkHeap;
    using LargeSource = MmapHeap;
    using Bins = GeometricSizeClasses<128_KiB, 1_KiB, 16>;    // 16 a doubling
    static constexpr std::size_t small_below = 64;            // bytes of a request: quicklists (section 2.1)
    static constexpr std::size_t large_from = 128_KiB;        // a mapping (section 2.1)
    static constexpr std::size_t consolidate_from = 512;      // a request that empties the quicklists first
    static constexpr std::size_t growth = 64_KiB;             // the source is asked for a multiple of it
    static constexpr std::size_t mapping_granularity = 4_KiB; // and LargeSource of this
};

/// A list for each size that a block with a boundary tag has room for.
template <class Parameters>
using LeaQuicklists = MultipleClasses<BoundaryTag::room_in(BoundaryTag::smallest), BoundaryTag::unit,
                                      Parameters::small_below - 1>;

/// One thread at a time.
template <class Parameters = LeaParameters>
using Lea = Compose<
    typename Parameters::Source, Coalesceable<Parameters::growth>, Seg<typename Parameters::Bins>, Coalesce,
    Threshold<LeaQuicklists<Parameters>, Parameters::consolidate_from>,
    SelectMapped<Parameters::large_from, Compose<typename Parameters::LargeSource,
                                                 Coalesceable<Parameters::mapping_granularity, true>>>>;

/// Any thread.
template <class Parameters = LeaParameters>
using LockedLea = Compose<Lea<Parameters>, Locked<>>;

} // namespace cairn
