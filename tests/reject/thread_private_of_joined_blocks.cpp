// SPDX-License-Identifier: MIT
// expect: ThreadPrivateHeap
// expect: TakesOthers
#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/thread_private.hpp>

using namespace cairn;

// What another thread frees would be joined with a neighbour that the first one's heap holds.
Compose<MmapHeap, Coalesceable<64_KiB>, Seg<PowersOfTwo<>>, Coalesce, ThreadPrivate<>> heap;
