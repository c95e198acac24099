// SPDX-License-Identifier: MIT
// expect: SelectMappedHeap
// expect: MarkingHeap
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

using Plain = cairn::CoalesceableHeap<cairn::MmapHeap>;
using Below = cairn::CoalesceHeap<cairn::SegHeap<Plain, cairn::PowersOfTwo<>>>;

// Nothing would tell a mapped block from another.
cairn::SelectMappedHeap<Below, 131072, Plain> heap;
