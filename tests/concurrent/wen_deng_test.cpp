// SPDX-License-Identifier: MIT
#include "threads_suite.hpp"

#include <cairn/layer/bump.hpp>
#include <cairn/source/mmap.hpp>

#include <allocators/wen_deng_apart.hpp>

namespace cairn::concurrent {

using Region = BumpHeap<MmapHeap, 1_MiB>; // the system's malloc moves the break, too
using Both = testing::Types<WenDeng<WenDengParameters, Region>, WenDengApart<WenDengParameters, Region>>;
INSTANTIATE_TYPED_TEST_SUITE_P(WenDengs, Threads, Both);

} // namespace cairn::concurrent
