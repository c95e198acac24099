// SPDX-License-Identifier: MIT
//
// The composition of examples/general_purpose.cpp: many layers at once.
#include "suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn::conformance {

template <class Source>
using General =
    Compose<Source, SizeHeader,
            Segregated<GeometricSizeClasses<32_KiB, 1_KiB>, Compose<Source, Bump<>, Freelist, SizeHeader>>,
            Ansi, Locked<>>;

struct GeneralRow : Row<General<MmapHeap>> {
    template <class Source>
    using Over = General<Source>;
    static constexpr bool c_semantics = true;
    static constexpr bool thread_safe = true;
};

using Rows = testing::Types<GeneralRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(GeneralPurpose, Conformance, Rows);

} // namespace cairn::conformance
