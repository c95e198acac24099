// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

/// Another generator of size classes than the kit's.
struct PowersOfTwo {
    static constexpr std::size_t count = 12;
    static constexpr std::size_t largest = 16_KiB;
    static constexpr unsigned class_of(std::size_t n) { return n <= 8 ? 0 : log2_floor(n - 1) - 2; }
    static constexpr std::size_t size_of(unsigned c) { return std::size_t{8} << c; }
};

template <class Source>
using Bin = Compose<Source, Bump<>, Freelist, SizeHeader>;

template <class Classes>
struct SegregatedRow : Row<Compose<MmapHeap, SizeHeader, Segregated<Classes, Bin<MmapHeap>>>> {
    template <class Source>
    using Over = Compose<Source, SizeHeader, Segregated<Classes, Bin<Source>>>;
};

using Rows = testing::Types<SegregatedRow<GeometricSizeClasses<32_KiB, 1_KiB>>, SegregatedRow<PowersOfTwo>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Segregated, Conformance, Rows);

} // namespace cairn::conformance
