// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

struct FreelistRow : On<Freelist> {
    static constexpr std::size_t fixed_size = 48;
};

struct TinyFreelistRow : On<Bump<4_KiB>, Freelist> {
    static constexpr std::size_t fixed_size = 1; // less than the link of a free block
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<FreelistRow, TinyFreelistRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Freelist, Conformance, Rows);

} // namespace cairn::conformance
