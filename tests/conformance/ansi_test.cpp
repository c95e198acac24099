// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

struct AnsiRow : On<SizeHeader, Ansi> {
    static constexpr bool c_semantics = true;
};

/// On a heap that brings memalign, reallocate and malloc_zeroed itself.
struct AnsiOnMallocRow : Row<Compose<MallocHeap, Ansi>> {
    static constexpr bool c_semantics = true;
};

using Rows = testing::Types<AnsiRow, AnsiOnMallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Ansi, Conformance, Rows);

} // namespace cairn::conformance
