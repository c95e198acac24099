// SPDX-License-Identifier: MIT
//
// The hardened allocator, and its layers by themselves.
#include "suite.hpp"

#include <allocators/hardened.hpp>

namespace cairn::conformance {

template <class H, bool Threads = false>
struct HardenedRow : Row<H> {
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr bool reuses = false; // not soon
    static constexpr bool releases_live = true;
    static constexpr bool thread_safe = Threads;
};

using Rows =
    testing::Types<HardenedRow<Hardened<>, true>, HardenedRow<GuardedPagesHeap<>>,
                   HardenedRow<Compose<GuardedPagesHeap<>, RandomPlaces<GeometricSizeClasses<4_KiB, 512>>>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Hardened, Conformance, Rows);

} // namespace cairn::conformance
