// SPDX-License-Identifier: MIT
// expect: SelectMappedHeap
// expect: MayMark
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;
using Mappings = Compose<MmapHeap, Coalesceable<4_KiB, true>>;
using Quick = Threshold<PowersOfTwo<32, 4>, 1000>;

// A mapped block of the lower one would go back to the mappings of the upper one.
Compose<MmapHeap, Coalesceable<64_KiB>, Seg<PowersOfTwo<>>, Coalesce, SelectMapped<128_KiB, Mappings>, Quick,
        SelectMapped<1_MiB, Mappings>>
    heap;
