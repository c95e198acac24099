// SPDX-License-Identifier: MIT
// expect: CoalesceHeap
// expect: HoldingHeap
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/source/mmap.hpp>

// A free neighbour could not be taken out of the heap below.
cairn::CoalesceHeap<cairn::CoalesceableHeap<cairn::MmapHeap>> heap;
