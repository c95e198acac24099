// SPDX-License-Identifier: MIT
// expect: SelectMappedHeap
// expect: MayMark
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>

using namespace cairn;
using Mappings = Compose<MmapHeap, Coalesceable<4_KiB, true>>;
Usage usage;

// A profile hands on what bears the mark of the lower one.
Compose<MmapHeap, Coalesceable<64_KiB>, Seg<PowersOfTwo<>>, Coalesce, SelectMapped<128_KiB, Mappings>,
        Profile<usage>, SelectMapped<1_MiB, Mappings>>
    heap;
