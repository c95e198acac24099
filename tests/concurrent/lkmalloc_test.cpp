// SPDX-License-Identifier: MIT
#include "threads_suite.hpp"

#include <allocators/dl_locallocks.hpp>
#include <allocators/lkmalloc.hpp>

namespace cairn::concurrent {

struct OneSubheap : LkmallocParameters {
    static constexpr unsigned subheaps = 1;
};

using Heaps = testing::Types<Lkmalloc<>, Lkmalloc<OneSubheap>, DlLocallocks<>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Lkmalloc, Threads, Heaps);

} // namespace cairn::concurrent
