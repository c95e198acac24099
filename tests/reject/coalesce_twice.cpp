// SPDX-License-Identifier: MIT
// expect: CoalesceHeap
// expect: Joins
#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;
using Quick = Seg<PowersOfTwo<>>;

// What the upper one holds is free by its tag, and the lower one would join it with what it holds itself.
Compose<MmapHeap, Coalesceable<64_KiB>, Quick, Coalesce, Quick, Coalesce> heap;
