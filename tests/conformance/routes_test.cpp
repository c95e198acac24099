// SPDX-License-Identifier: MIT
//
// The layers that send a request one way or another: quicklists, mappings, a second heap, aligned headers.
#include "suite.hpp"

#include <cairn/combine/fallback.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>

namespace cairn::conformance {

using Fine = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
using Quick = MultipleClasses<24, 16, 63>;

struct ThresholdRow : On<Coalesceable<64_KiB>, Seg<Fine>, Coalesce, Threshold<Quick, 512>> {
    static constexpr bool releases_live = true;
};

template <class Source>
using Mappings = Compose<Source, Coalesceable<4_KiB, true>>;

struct SelectMappedRow : Row<Compose<MmapHeap, Coalesceable<64_KiB>, Seg<Fine>, Coalesce,
                                     SelectMapped<32_KiB, Mappings<MmapHeap>>>> {
    template <class Source>
    using Over =
        Compose<Source, Coalesceable<64_KiB>, Seg<Fine>, Coalesce, SelectMapped<32_KiB, Mappings<Source>>>;
    static constexpr bool releases_live = true;
};

/// The first heap tells its blocks.
struct FallbackRow : Row<Compose<MmapHeap, Fallback<StaticBufferHeap<64_KiB>>>> {
    template <class Source>
    using Over = Compose<Source, Fallback<StaticBufferHeap<64_KiB>>>;
    static constexpr bool reuses = false;
};

/// Only the second one does.
struct FallbackBySecondRow : Row<Compose<MmapHeap, Fallback<SbrkHeap>>> {
    static constexpr bool reuses = false;
};

template <class Source>
using PowersWithHeaders =
    Compose<Source, SizeHeader, Segregated<PowersOfTwo<8, 12>, Compose<Source, Bump<>, Freelist, SizeHeader>>,
            AlignedHeader>;

struct AlignedHeaderRow : Row<PowersWithHeaders<MmapHeap>> {
    template <class Source>
    using Over = PowersWithHeaders<Source>;
};

using Rows =
    testing::Types<ThresholdRow, SelectMappedRow, FallbackRow, FallbackBySecondRow, AlignedHeaderRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Routes, Conformance, Rows);

} // namespace cairn::conformance
