// SPDX-License-Identifier: MIT
//
// What `cairn paper hoard-3` counts in traces.
#include <bench/papers/lines/falsely_shared.hpp>

#include <gtest/gtest.h>

using cairn::papers::FalselyShared;

TEST(FalselyShared, TwoThreadsInALine) {
    FalselyShared found;
    found.allocated(1, 640, 8);
    found.allocated(2, 648, 8);
    found.allocated(1, 656, 8);
    found.allocated(2, 704, 100);
    EXPECT_EQ(found.count(), 2);
    EXPECT_EQ(found.objects(), 4);
    EXPECT_EQ(found.requested(), 124);
}

TEST(FalselyShared, EndsOfALongBlock) {
    FalselyShared found;
    found.allocated(1, 640, 100);
    found.allocated(2, 744, 8);
    found.allocated(2, 752, 200);
    EXPECT_EQ(found.count(), 2);
}

TEST(FalselyShared, NotWithWhatIsFree) {
    FalselyShared found;
    found.allocated(1, 640, 8);
    found.freed(1, 640);
    found.allocated(2, 648, 8);
    found.allocated(2, 640, 8);
    found.freed(1, 4096); // from before the trace
    EXPECT_EQ(found.count(), 0);
}

TEST(FalselyShared, NotWithWhatIsPassedOn) {
    FalselyShared found;
    found.allocated(1, 640, 8);
    found.allocated(2, 648, 8);
    found.freed(2, 640);
    EXPECT_EQ(found.count(), 0);
    found.allocated(3, 656, 8);
    EXPECT_EQ(found.count(), 1);
}
