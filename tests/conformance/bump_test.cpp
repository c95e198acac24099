// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

struct BumpRow : On<Bump<>> {
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

/// Chunks so small that most requests get one of their own.
struct SmallBumpRow : On<Bump<256>> {
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<BumpRow, SmallBumpRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Bump, Conformance, Rows);

} // namespace cairn::conformance
