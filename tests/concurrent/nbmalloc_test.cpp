// SPDX-License-Identifier: MIT
//
// NBmalloc under threads, and under threads that stop where they are.
#include "../unit/nbmalloc_audit.hpp"
#include "stopped_threads.hpp"

namespace cairn::concurrent {

using Heaps = testing::Types<Nbmalloc<>, Nbmalloc<test::TinyNbmallocParameters>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Nbmalloc, Threads, Heaps);

namespace {

template <class Parameters>
void stop_and_audit(unsigned rounds) {
    using H = Nbmalloc<Parameters>;
    others_go_on<H, Parameters::largest_small>(platform::sanitized ? rounds / 8 : rounds);
    test::NbAudit<Parameters> audit(immortal<H>.object);
    Statistics now;
    immortal<H>.object.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_GT(audit.superblocks, 0u);
}

TEST(NbmallocStopped, ThreadsBlockNobody) {
    stop_and_audit<NbmallocParameters>(200);
}

TEST(NbmallocStopped, ThreadsOfATinyHeapBlockNobody) {
    stop_and_audit<test::TinyNbmallocParameters>(200);
}

} // namespace
} // namespace cairn::concurrent
