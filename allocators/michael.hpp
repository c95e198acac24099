// SPDX-License-Identifier: MIT
//
// Michael's lock-free allocator, of "Scalable Lock-Free Dynamic Memory Allocation" (Maged Michael, PLDI 2004), section
// 3: Hoard's superblocks without a lock, by compare-exchanges of single words. From the bottom up:
//
//   Segments         superblocks of 64 KiB from the operating system, their descriptors apart from them
//   MichaelAnchor    a superblock's list of free blocks and its state, one word
//   TaggedQueue      superblocks that are partly filled, of one size class, first in, first out, section 3.2.6
//   MichaelPlaces    the heaps' superblocks, the queues, the empty ones
//   MichaelCredits   malloc from the active superblock, from a partly filled or from a new one
//   MichaelSmallHeap malloc and free
//   SmallOrMapped    the same, with a mapping for each large block
//
// docs/michael.md has the argument that it is correct, docs/family.md what differs from the paper.
#pragma once

#include <cairn/family/michael_small.hpp>
#include <cairn/family/small_or_mapped.hpp>

namespace cairn {

/// Superblocks and size classes are NBmalloc's, so that the two can be compared; the paper names 16 KiB as an example.
/// The number of processors is the machine's.
struct MichaelParameters {
    static constexpr std::size_t superblock = 64_KiB;
    static constexpr std::size_t smallest = 8; // size classes are powers of two
    static constexpr std::size_t largest_small = 32_KiB;
    static constexpr unsigned most_credits = 64; // six bits in the paper
    static constexpr unsigned processors = 0;    // heaps; 0: as many as the process may run on
    static constexpr unsigned most_processors = 64;
};

template <class Parameters = MichaelParameters>
using Michael = family::SmallOrMapped<MichaelSmallHeap<Parameters>>;

} // namespace cairn
