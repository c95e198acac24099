// SPDX-License-Identifier: MIT
//
// BoundedSpinLock: waiters that let a preempted holder run, ranks shared with Lock, forks. Its mutual exclusion:
// lock_test.cpp.
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/sync/lock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;
using sync::BoundedSpinLock;
using sync::Guard;
using sync::Lock;
using sync::Rank;

namespace {

template <class L>
class BoundedSpinLocks : public testing::Test {};
using Bounds = testing::Types<BoundedSpinLock<>, BoundedSpinLock<1>>;
TYPED_TEST_SUITE(BoundedSpinLocks, Bounds);

/// More waiters than processors, and a holder that sleeps.
TYPED_TEST(BoundedSpinLocks, AreWaitedFor) {
    TypeParam lock(Rank::leaf);
    std::atomic<int> served{0};
    lock.lock();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&] {
            const Guard hold(lock);
            ++served;
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(served, 0);
    lock.unlock();
    threads.clear();
    EXPECT_EQ(served, 6);
}

TEST(BoundedSpinLock, HasARankAmongTheLocksOfTheOtherKind) {
    Lock low(Rank::registry);
    BoundedSpinLock<> high(Rank::leaf);
    {
        const Guard one(low);
        const Guard two(high);
    }
    if (!platform::checked) {
        GTEST_SKIP() << "a debug build looks at the ranks";
    }
    const auto wrong = [&] {
        const Guard one(high);
        const Guard two(low);
    };
    EXPECT_DEATH(wrong(), "taken while one of the same or a higher rank is held");
}

TEST(BoundedSpinLock, IsHeldAcrossAFork) {
    BoundedSpinLock<> one(Rank::leaf);
    BoundedSpinLock<> other(Rank::leaf);
    one.hold_across_fork();
    other.hold_across_fork();
    const pid_t child = fork();
    one.let_go_after_fork();
    other.let_go_after_fork();
    const bool good = one.try_lock();
    if (child == 0) {
        one.reset_after_fork();
        _exit(good && one.try_lock() ? 0 : 1);
    }
    one.unlock();
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(good);
}

} // namespace
