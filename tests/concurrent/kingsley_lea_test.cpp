// SPDX-License-Identifier: MIT
#include "threads_suite.hpp"

#include <allocators/kingsley.hpp>
#include <allocators/kingsley_coalescing.hpp>
#include <allocators/lea.hpp>

namespace cairn::concurrent {

using Heaps = testing::Types<LockedKingsley<>, LockedKingsleyCoalescing<>, LockedLea<>>;
INSTANTIATE_TYPED_TEST_SUITE_P(KingsleyLea, Threads, Heaps);

} // namespace cairn::concurrent
