// SPDX-License-Identifier: MIT
//
// The layers that hold, split and join blocks.
#include "suite.hpp"

#include <cairn/combine/seg.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>

namespace cairn::conformance {

using Fine = GeometricSizeClasses<128_KiB, 1_KiB, 16>;

struct DictionaryRow : On<Bump<>, Adapt<>> {
    static constexpr std::size_t fixed_size = 48;
};

struct CoalesceableRow : On<Coalesceable<>> {
    static constexpr bool releases_live = true;
};

struct MarkedRow : On<Coalesceable<4_KiB, true>> {
    static constexpr bool releases_live = true;
};

/// Without splitting, a small request may take a block that a larger one will miss.
struct SegRow : On<Bump<>, SizeHeader, Seg<Fine>> {
    static constexpr bool reuses = false;
};

struct CoalesceRow : On<Coalesceable<64_KiB>, Seg<Fine>, Coalesce> {
    static constexpr bool releases_live = true;
};

/// A small request may take part of a region that a larger one will miss: regions are not joined.
struct CoalesceBySmallRegionsRow : On<Coalesceable<>, Seg<PowersOfTwo<>>, Coalesce> {
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

struct CoalesceOverSbrkRow : Row<Compose<SbrkHeap, Coalesceable<64_KiB>, Seg<Fine>, Coalesce>> {};

struct CoalesceInABufferRow
    : Row<Compose<StaticBufferHeap<64_MiB>, Coalesceable<4_KiB>, Seg<Fine>, Coalesce>> {
    static constexpr std::size_t max_size = 32_MiB;
};

struct RoundedRow : On<Coalesceable<64_KiB>, Seg<PowersOfTwo<>>, Coalesce, Rounded<PowersOfTwo<>>> {
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<DictionaryRow, CoalesceableRow, MarkedRow, SegRow, CoalesceRow,
                            CoalesceBySmallRegionsRow, CoalesceOverSbrkRow, CoalesceInABufferRow, RoundedRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Coalescing, Conformance, Rows);

} // namespace cairn::conformance
