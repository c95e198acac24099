// SPDX-License-Identifier: MIT
// expect: CoalesceHeap
// expect: TaggedHeap
#include <cairn/combine/seg.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

// The blocks know their size, but not their neighbours.
cairn::CoalesceHeap<cairn::SegHeap<cairn::SizeHeaderHeap<cairn::MmapHeap>, cairn::PowersOfTwo<>>> heap;
