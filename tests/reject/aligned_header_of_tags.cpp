// SPDX-License-Identifier: MIT
// expect: AlignedHeaderHeap
// expect: SizeHeaderWord
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/source/mmap.hpp>

// A boundary tag has other bits where the distance would be.
cairn::AlignedHeaderHeap<cairn::CoalesceableHeap<cairn::MmapHeap>> heap;
