// SPDX-License-Identifier: MIT
//
// wen-deng, the allocator of a report on implementing Hoard (Wen and Deng, 2018): superblocks of a page, a header of 8
// bytes on each block, free blocks linked through their own first word. Read from the source of memory upward:
//
//   SbrkHeap         the program break, a page or a few at a time
//   RawBlocks        above S/2: whole pages, best fit, split, used again for superblocks, too
//   Superblock       a page of equal blocks, carved one by one; its owner behind a mutex and a reference count
//   Heap             superblocks by class and fullness, u_i and a_i
//   WenDengHeap      malloc and free of the report, over P heaps and the global one
//
// What the report leaves open, and what differs from it: docs/family.md.
#pragma once

#include <cairn/family/wen_deng.hpp>
#include <cairn/source/sbrk.hpp>

namespace cairn {

/// Section 1.1.
struct WenDengParameters {
    static constexpr std::size_t superblock_size = 4_KiB; // S, the page
    static constexpr std::size_t heaps = 8;               // P, beside the global heap
    static constexpr std::size_t least_superblocks = 4;   // K
    static constexpr std::size_t emptiness_numerator = 1; // f = 1/4
    static constexpr std::size_t emptiness_denominator = 4;
    static constexpr std::size_t raw_slack = 4_KiB; // section 2.3: a raw block too large by more is split
};

template <class Parameters = WenDengParameters, Heap Source = SbrkHeap>
using WenDeng = WenDengHeap<Parameters, Source, wen_deng::LinksInBlocks>;

} // namespace cairn
