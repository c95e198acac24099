// SPDX-License-Identifier: MIT
// expect: the granularity of regions is a power of two
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/source/mmap.hpp>

// Regions are rounded by a mask.
cairn::Compose<cairn::MmapHeap, cairn::Coalesceable<5000>> heap;
