// SPDX-License-Identifier: MIT
//
// Cairn, the flagship: one heap per thread and a global heap, as in Hoard, with fast paths without locks and atomic
// read-modify-writes. Unlike the other allocators here it is not composed of the kit's layers: it is one template,
// OwnerRouted, over size classes and an emptiness discipline. Its levels, from the source of memory upward:
//
//   AddressSpace   32 MiB windows of address space from the kernel
//   RunHeap        runs of 64 KiB slots: best fit, coalesced, purged when unused
//   LargeHeap      a run for each block of more than 64 KiB, up to 16 MiB
//   HugeHeap       a mapping for each longer block
//   GlobalHeap     superblocks that no thread heap has, in fullness groups
//   ThreadHeap     the superblocks of one thread; at most 1/6 of them, or 128 KiB, may be free
//   Levels         everything that threads share: the heaps above, and the registry of thread heaps
//   OwnerRouted    malloc and free: which level serves a size, and which one a pointer belongs to
#pragma once

#include <cairn/sizeclass/spread.hpp>
#include <cairn/thread/owner_routed.hpp>

namespace cairn {

struct FlagshipParameters {
    /// 8 classes to a doubling keep internal fragmentation at 1.125. From 8 KiB on there are 5, which keep it at 1.167,
    /// below Hoard's b = 1.2.
    static constexpr std::size_t largest_small = 8_KiB;   // in superblocks of one slot
    static constexpr std::size_t largest_medium = 64_KiB; // in superblocks of 2, 4 or 8 slots
    static constexpr std::size_t slack = 128_KiB;         // Hoard writes K S
};

using FlagshipClasses = SpreadSizeClasses<
    GeometricSizeClasses<FlagshipParameters::largest_small, FlagshipParameters::largest_small>,
    FlagshipParameters::largest_medium>;

template <class Hooks>
using Flagship = OwnerRouted<FlagshipClasses, Emptiness<FlagshipParameters::slack, 1, 6>, Hooks>;

} // namespace cairn
