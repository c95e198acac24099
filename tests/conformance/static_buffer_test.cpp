// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/static_buffer.hpp>

namespace cairn::conformance {

struct StaticBufferRow : Row<StaticBufferHeap<2_MiB>> {
    static constexpr std::size_t max_size = 2_MiB;
    static constexpr bool reuses = false;
};

/// A source that ends, under layers.
struct PoolInABufferRow : Row<Compose<StaticBufferHeap<4_MiB>, Bump<4_KiB>, Freelist>> {
    static constexpr std::size_t fixed_size = 200;
};

using Rows = testing::Types<StaticBufferRow, PoolInABufferRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(StaticBuffer, Conformance, Rows);

} // namespace cairn::conformance
