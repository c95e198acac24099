// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/source/sbrk.hpp>

namespace cairn::conformance {

struct SbrkRow : Row<SbrkHeap> {
    static constexpr std::size_t max_size = 64_MiB; // the break may stand close below the next mapping
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<SbrkRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sbrk, Conformance, Rows);

} // namespace cairn::conformance
