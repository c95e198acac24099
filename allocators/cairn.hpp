// SPDX-License-Identifier: MIT
//
// Cairn, the flagship: Hoard's discipline with today's costs. Read from the source of memory upward:
//
//   AddressSpace   32 MiB windows of address space from the kernel
//   RunHeap        runs of 64 KiB slots: best fit, coalesced, purged when idle
//   LargeHeap      a run for each block of 64 KiB to 16 MiB
//   HugeHeap       a mapping for each longer one
//   GlobalHeap     superblocks that no thread holds, in fullness groups
//   ThreadHeap     one for each thread, kept at most 1/6 empty (or 128 KiB)
//   OwnerRouted    sizes and pointers to the level that serves them
#pragma once

#include <cairn/sizeclass/spread.hpp>
#include <cairn/thread/owner_routed.hpp>

namespace cairn {

struct FlagshipParameters {
    /// 8 classes to a doubling keep internal fragmentation at 1.125, and 5 from 8 KiB on at 1.167, below Hoard's b = 1.2.
    static constexpr std::size_t largest_small = 8_KiB;   // superblocks of one slot
    static constexpr std::size_t largest_medium = 64_KiB; // of 2, 4 or 8
    static constexpr std::size_t slack = 128_KiB;         // Hoard's K S
};

using FlagshipClasses = SpreadSizeClasses<
    GeometricSizeClasses<FlagshipParameters::largest_small, FlagshipParameters::largest_small>,
    FlagshipParameters::largest_medium>;

template <class Hooks>
using Flagship = OwnerRouted<FlagshipClasses, Emptiness<FlagshipParameters::slack, 1, 6>, Hooks>;

} // namespace cairn
