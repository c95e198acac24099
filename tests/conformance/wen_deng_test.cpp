// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/layer/bump.hpp>

#include <allocators/wen_deng_apart.hpp>

namespace cairn::conformance {

/// A region in place of the break, so that there can be many.
struct WenDengRow : Row<WenDeng<WenDengParameters, BumpHeap<MmapHeap, 1_MiB>>> {
    template <class Source>
    using Over = WenDeng<WenDengParameters, BumpHeap<Source>>;
    static constexpr bool releases_live = true;
    static constexpr bool thread_safe = true;
};

struct WenDengApartRow : Row<WenDengApart<WenDengParameters, BumpHeap<MmapHeap, 1_MiB>>> {
    template <class Source>
    using Over = WenDengApart<WenDengParameters, BumpHeap<Source>>;
    static constexpr bool releases_live = true;
    static constexpr bool thread_safe = true;
};

/// At the break, which the system's malloc moves, too: not from several threads.
struct WenDengAtTheBreakRow : Row<WenDeng<>> {
    static constexpr std::size_t max_size = 64_MiB;
    static constexpr bool releases_live = true;
};

using Rows = testing::Types<WenDengRow, WenDengApartRow, WenDengAtTheBreakRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(WenDeng, Conformance, Rows);

} // namespace cairn::conformance
