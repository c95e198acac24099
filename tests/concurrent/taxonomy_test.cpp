// SPDX-License-Identifier: MIT
//
// The allocators of Hoard's taxonomy (its Table 7) under threads.
#include "threads_suite.hpp"

#include <allocators/mtmalloc_like.hpp>
#include <allocators/owned.hpp>
#include <allocators/private.hpp>
#include <allocators/ptmalloc_like.hpp>
#include <allocators/serial.hpp>
#include <allocators/thresholds.hpp>

namespace cairn::concurrent {

using Taxonomy =
    testing::Types<PrivateHeaps<>, OwnedHeaps<>, MtmallocLike<>, ThresholdHeaps<>, Serial<>, PtmallocLike<>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Taxonomy, Threads, Taxonomy);

} // namespace cairn::concurrent
