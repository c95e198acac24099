// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

struct MmapRow : Row<MmapHeap> {
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<MmapRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Mmap, Conformance, Rows);

} // namespace cairn::conformance
