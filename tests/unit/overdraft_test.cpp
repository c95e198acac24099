// SPDX-License-Identifier: MIT
//
// Overdraft: who is told of it, and the range in which nobody has anything to do.
#include <cairn/superblock/emptiness.hpp>
#include <cairn/thread/overdraft.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

using Discipline = Emptiness<128_KiB, 1, 6>;
constexpr std::size_t slack = Discipline::slack;

class OverdraftTest : public testing::Test {
protected:
    /// A slow path as BalancedContents makes it; whether it was calm.
    bool slow_path(std::size_t bytes, std::size_t least = 0, std::size_t most = 1_GiB) {
        if (overdraft_.take_calm_path(bytes)) {
            return true;
        }
        overdraft_.note<Discipline>(bytes, inbox_, wanted_);
        overdraft_.calm<Discipline>(least, most, inbox_);
        return false;
    }
    bool listed() const { return !wanted_.empty(); }

    Inbox inbox_;
    WantedVisits wanted_;
    Overdraft overdraft_;
};

TEST_F(OverdraftTest, IsCalmWhereNothingIsToDo) {
    EXPECT_FALSE(slow_path(0)) << "nobody has looked yet";
    EXPECT_TRUE(slow_path(0));
    EXPECT_TRUE(slow_path(slack)) << "not enough for the list";
    EXPECT_FALSE(listed());
}

TEST_F(OverdraftTest, WhatIsMuchIsToldAtOnce) {
    slow_path(0);
    EXPECT_FALSE(slow_path(slack + 1));
    EXPECT_TRUE(listed());
    EXPECT_TRUE(slow_path(100 * slack)) << "who is on the list is not told again";
}

TEST_F(OverdraftTest, WhatVisitsLeftCountsFromTheLeastSince) {
    overdraft_.visited(10 * slack, inbox_);
    slow_path(10 * slack);
    EXPECT_TRUE(slow_path(11 * slack));
    EXPECT_FALSE(slow_path(5 * slack)) << "less than was left";
    EXPECT_FALSE(slow_path(6 * slack + 1));
    EXPECT_TRUE(listed());
}

TEST_F(OverdraftTest, AVisitEndsTheCalm) {
    slow_path(0);
    slow_path(2 * slack);
    ASSERT_TRUE(slow_path(2 * slack));
    overdraft_.visited(slack, inbox_);
    EXPECT_FALSE(slow_path(slack));
}

TEST_F(OverdraftTest, StaysInTheRangeOfWhoElseLooks) {
    slow_path(500, 400, 600);
    EXPECT_TRUE(slow_path(400));
    EXPECT_TRUE(slow_path(600));
    EXPECT_FALSE(slow_path(399, 400, 600));
    EXPECT_FALSE(slow_path(601, 400, 600));
}

TEST_F(OverdraftTest, TheCalmEndsAndIsCounted) {
    slow_path(0);
    unsigned calm = 0;
    while (slow_path(0)) {
        ++calm;
        ASSERT_EQ(overdraft_.calm_paths(), calm);
        ASSERT_LT(calm, 1000u) << "what others change is never seen";
    }
    EXPECT_EQ(overdraft_.calm_paths(), 0u) << "a new one";
    EXPECT_EQ(calm, 32u);
    slow_path(0);
    overdraft_.visited(0, inbox_);
    EXPECT_EQ(overdraft_.calm_paths(), 0u) << "not what was granted and not used";
}

} // namespace
