// SPDX-License-Identifier: MIT
//
// NBmalloc, of "Allocating Memory in a Lock-Free Manner" (Gidenstam, Papatriantafilou, Tsigas; ESA 2005): Hoard's
// architecture without a lock. From the bottom up:
//
//   Segments      superblocks of 64 KiB from the operating system, their descriptors apart from them
//   IbmFreelist   the blocks of a superblock, section 5
//   NbMover       a superblock's way from one slot to another, in four steps that anyone can finish, section 4.2
//   NbFlatSet     a bounded set of superblocks: Get_Any, Insert, section 4.1
//   NbPlaces      a flat-set for each heap, size class and fullness group, section 3
//   NbKeeper      which set a superblock belongs into, and what becomes of one that finds no room
//   NbSmallHeap   malloc and free
//   SmallOrMapped the same, with a mapping for each large block
//
// docs/nbmalloc.md has the argument that it is correct, docs/family.md what differs from the paper.
#pragma once

#include <cairn/family/nbmalloc_small.hpp>
#include <cairn/family/small_or_mapped.hpp>

namespace cairn {

/// Section 6. The number of processors is the machine's.
struct NbmallocParameters {
    static constexpr std::size_t superblock = 64_KiB;
    static constexpr std::size_t smallest = 8; // size classes are powers of two
    static constexpr std::size_t largest_small = 32_KiB;
    static constexpr unsigned fullness_groups = 4;
    static constexpr std::uint32_t change_threshold_numerator = 1; // of a group's width
    static constexpr std::uint32_t change_threshold_denominator = 4;
    static constexpr std::size_t flat_set = 4093; // superblocks a set of a processor's heap holds
    static constexpr std::size_t global_flat_set = 4093;
    static constexpr unsigned processors =
        0; // heaps beside the global one; 0: as many as the process may run on
    static constexpr unsigned most_processors = 64;
};

template <class Parameters = NbmallocParameters>
using Nbmalloc = family::SmallOrMapped<NbSmallHeap<Parameters>>;

} // namespace cairn
