// SPDX-License-Identifier: MIT
// expect: SelectMappedHeap
// expect: MayMark
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;
using Mappings = Compose<MmapHeap, Coalesceable<4_KiB, true>>;

// Its blocks would go back to the mappings.
Compose<MmapHeap, Coalesceable<64_KiB, true>, Seg<PowersOfTwo<>>, Coalesce, SelectMapped<128_KiB, Mappings>>
    heap;
