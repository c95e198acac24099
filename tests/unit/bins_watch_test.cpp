// SPDX-License-Identifier: MIT
//
// Bins watch: a look is due after a step and enough slow paths, and not before.
#include <cairn/thread/bins_watch.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

constexpr std::size_t step = 1000;
constexpr unsigned patience = 4;

bool due_after(BinsWatch &watch, std::size_t overdraft) {
    watch.slow_path(overdraft);
    return watch.is_due(overdraft, patience, step);
}

TEST(BinsWatch, ALookIsDueAfterAStepAndEnoughSlowPaths) {
    BinsWatch watch;
    for (unsigned i = 1; i < patience; ++i) {
        EXPECT_FALSE(due_after(watch, step + 1));
    }
    EXPECT_FALSE(due_after(watch, step)) << "no step from 0";
    EXPECT_TRUE(due_after(watch, step + 1));
}

TEST(BinsWatch, SeveralStepsTakeSoManyTimesFewerSlowPaths) {
    BinsWatch watch;
    EXPECT_FALSE(due_after(watch, 4 * step - 1));
    EXPECT_TRUE(due_after(watch, 2 * step));
    watch.measured(0);
    EXPECT_TRUE(due_after(watch, patience * step));
    watch.measured(step);
    EXPECT_FALSE(due_after(watch, patience * step)) << "a step less";
}

TEST(BinsWatch, AStepIsFromTheLeastSinceTheLastLook) {
    BinsWatch watch;
    watch.measured(5000);
    for (unsigned i = 0; i < patience; ++i) {
        EXPECT_FALSE(due_after(watch, 6000));
    }
    EXPECT_TRUE(due_after(watch, 6001));
    EXPECT_FALSE(due_after(watch, 3000)) << "emptier";
    EXPECT_TRUE(due_after(watch, 4001));
    watch.measured(4001);
    EXPECT_FALSE(due_after(watch, 7000)) << "patience begins again";
}

} // namespace
