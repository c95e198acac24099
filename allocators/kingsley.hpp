// SPDX-License-Identifier: MIT
//
// Kingsley's allocator (BSD 4.2), as Heap Layers, section 6.1 composes it: fast, and wasteful. Requests are rounded up
// to the next power of two; a freed block serves its own class only, and nothing is ever split or joined. Read from the
// source of memory upward:
//
//   Source         memory at the program break
//   Bump           a chunk at a time for each class: the paper asks the system for each block
//   Freelist       the freed blocks of the class, last freed first
//   SizeHeader     the size of the class before each block
//   Segregated     29 classes, 8 bytes to 2 GiB, and a heap for what is larger
//   AlignedHeader  and Locked, in the form for many threads: memalign, which the paper has not, and a lock
#pragma once

#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn {

struct KingsleyParameters {
    using Source = SbrkHeap;            // of each class; MmapHeap for a heap that leaves the break alone
    using LargeSource = MmapHeap;       // above the largest class
    using Classes = PowersOfTwo<8, 29>; // section 6.1
    static constexpr std::size_t chunk_size =
        4_KiB; // what a class takes from the source, unless a block is larger
};

template <class Parameters>
using KingsleyBin = Compose<typename Parameters::Source, Bump<Parameters::chunk_size>, Freelist, SizeHeader>;

/// One thread at a time.
template <class Parameters = KingsleyParameters>
using Kingsley = Compose<typename Parameters::LargeSource, SizeHeader,
                         Segregated<typename Parameters::Classes, KingsleyBin<Parameters>>>;

/// Any thread.
template <class Parameters = KingsleyParameters>
using LockedKingsley = Compose<Kingsley<Parameters>, AlignedHeader, Locked<>>;

} // namespace cairn
