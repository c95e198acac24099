// SPDX-License-Identifier: MIT
//
// Kingsley's allocator with coalescing: the experiment of Heap Layers, section 8. The size classes stay, as bins of
// free blocks; but free neighbours are joined at once, and a block is split when only a larger one is free, so a block
// is as long as was asked for. Read from the source of memory upward:
//
//   Source         memory at the program break
//   Coalesceable   boundary tags
//   Seg            free blocks in 29 bins, a power of two apart
//   Coalesce       splitting and joining
//   Locked         in the form for many threads: a lock
#pragma once

#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

struct KingsleyCoalescingParameters {
    using Source = SbrkHeap;
    using Classes = PowersOfTwo<8, 29>;          // as in KingsleyParameters
    static constexpr std::size_t growth = 4_KiB; // the source is asked for a multiple of it
};

/// One thread at a time.
template <class Parameters = KingsleyCoalescingParameters>
using KingsleyCoalescing = Compose<typename Parameters::Source, Coalesceable<Parameters::growth>,
                                   Seg<typename Parameters::Classes>, Coalesce>;

/// Any thread.
template <class Parameters = KingsleyCoalescingParameters>
using LockedKingsleyCoalescing = Compose<KingsleyCoalescing<Parameters>, Locked<>>;

} // namespace cairn
