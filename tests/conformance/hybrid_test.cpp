// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/combine/hybrid.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

/// Told apart by size.
struct HybridRow : Row<Compose<MmapHeap, SizeHeader, Hybrid<100, Compose<MmapHeap, Bump<>, SizeHeader>>>> {
    template <class Source>
    using Over = Compose<Source, SizeHeader, Hybrid<100, Compose<Source, Bump<>, SizeHeader>>>;
    static constexpr bool reuses = false;
};

/// Told apart by who owns the block.
struct HybridByOwnerRow : Row<Compose<MmapHeap, Hybrid<256, Compose<MmapHeap, Bump<>>>>> {
    template <class Source>
    using Over = Compose<Source, Hybrid<256, Compose<Source, Bump<>>>>;
    static constexpr bool reuses = false;
};

using Rows = testing::Types<HybridRow, HybridByOwnerRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Hybrid, Conformance, Rows);

} // namespace cairn::conformance
