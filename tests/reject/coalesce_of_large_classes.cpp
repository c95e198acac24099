// SPDX-License-Identifier: MIT
// expect: the heap below must hold the smallest block that is split off
#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

// A block of 24 bytes that is split off would be held in the class of 32, and serve requests of 32.
cairn::Compose<cairn::MmapHeap, cairn::Coalesceable<>, cairn::Seg<cairn::PowersOfTwo<32, 12>>,
               cairn::Coalesce>
    heap;
