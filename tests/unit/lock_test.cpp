// SPDX-License-Identifier: MIT
//
// Lock: mutual exclusion (of the other kind too), sleepers that are woken, ranks that only rise, and the child of a
// fork.
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/sync/lock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;
using sync::Glance;
using sync::Guard;
using sync::Lock;
using sync::Rank;

namespace {

using Milliseconds = std::chrono::milliseconds;

template <class L>
class Locks : public testing::Test {};
using Kinds = testing::Types<Lock, sync::BoundedSpinLock<>, sync::BoundedSpinLock<1>>;
TYPED_TEST_SUITE(Locks, Kinds);

TYPED_TEST(Locks, LetOneInAtATime) {
    TypeParam lock(Rank::leaf);
    unsigned long counter = 0; // not atomic: a race would lose counts, and ThreadSanitizer would say so
    constexpr int rounds = 20000;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                if (i % 3 == 0) {
                    while (!lock.try_lock()) {
                        platform::yield();
                    }
                } else {
                    lock.lock();
                }
                ++counter;
                lock.unlock();
            }
        });
    }
    threads.clear();
    EXPECT_EQ(counter, 4u * rounds);
}

TEST(Lock, WakesAllWhoSleepOnIt) {
    Lock lock(Rank::leaf);
    std::atomic<int> served{0};
    lock.lock();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            const Guard hold(lock);
            ++served;
        });
    }
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(Milliseconds(100)); // longer than anybody spins
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20) << "they do not sleep";
    EXPECT_EQ(served, 0);
    lock.unlock();
    threads.clear();
    EXPECT_EQ(served, 3);
}

TEST(Lock, TryLockDoesNotWait) {
    Lock lock(Rank::leaf);
    EXPECT_TRUE(lock.try_lock());
    std::jthread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST(Lock, AGuardHoldsItForAScope) {
    Lock lock(Rank::leaf);
    const auto is_free = [&] {
        bool free = false;
        std::jthread([&] {
            free = lock.try_lock();
            if (free) {
                lock.unlock();
            }
        }).join();
        return free;
    };
    {
        const Guard hold(lock);
        EXPECT_FALSE(is_free());
    }
    EXPECT_TRUE(is_free());
}

TEST(Lock, RanksMayRise) {
    Lock low(Rank::thread_heap);
    Lock middle(Rank::global_heap);
    Lock high(Rank::runs);
    for (int i = 0; i < 2; ++i) {
        const Guard one(low);
        {
            const Guard two(middle);
            const Guard three(high);
        }
        const Guard again(high);
    }
    // Not held in nested order, but taken in rising order.
    low.lock();
    high.lock();
    low.unlock();
    high.unlock();
    const Guard hold(low);
}

TEST(Lock, LocksOfComposedHeapsNest) {
    Lock outer(Rank::composed);
    Lock inner(Rank::composed);
    Lock higher(Rank::superblock);
    {
        const Guard one(outer);
        const Guard two(inner);
        const Guard three(higher);
    }
    const Guard one(higher);
    if (platform::checked) {
        EXPECT_DEATH(outer.lock(), "of the same or a higher rank is held");
    }
}

TEST(Lock, RanksMayNotFallOrStay) {
    if (!platform::checked) {
        GTEST_SKIP() << "a debug build looks at the ranks";
    }
    const auto take = [](Rank first, Rank second) {
        Lock one(first);
        Lock two(second);
        one.lock();
        two.lock();
    };
    const char *const message = "lock of rank [0-9]+ taken while one of the same or a higher rank is held";
    EXPECT_DEATH(take(Rank::runs, Rank::global_heap), message);
    EXPECT_DEATH(take(Rank::registry, Rank::thread_heap), message);
    EXPECT_DEATH(take(Rank::leaf, Rank::thread_heap), message);
    EXPECT_DEATH(take(Rank::huge, Rank::huge), message);
    EXPECT_DEATH(
        {
            Lock composed(Rank::composed);
            Lock higher(Rank::superblock);
            const Guard one(composed);
            const Guard two(higher);
            Lock(Rank::composed).lock();
        },
        message);
    EXPECT_DEATH(
        {
            Lock lock(Rank::leaf);
            EXPECT_TRUE(lock.try_lock());
            Lock other(Rank::leaf);
            other.lock();
        },
        message);
}

TEST(Lock, EachThreadHasRanksOfItsOwn) {
    Lock high(Rank::runs);
    Lock low(Rank::global_heap);
    const Guard hold(high);
    std::jthread([&] { const Guard other(low); }).join();
}

/// The holder is a thread that the child of a fork does not have; also with others asleep at it.
TEST(Lock, TheChildOfAForkTakesItAnew) {
    for (const bool with_sleepers : {false, true}) {
        Lock lock(Rank::leaf);
        std::atomic<bool> held{false};
        std::atomic<bool> done{false};
        std::jthread holder([&] {
            const Guard hold(lock);
            held = true;
            while (!done) {
                platform::yield();
            }
        });
        while (!held) {
            platform::yield();
        }
        std::jthread sleeper([&] {
            if (with_sleepers) {
                const Guard hold(lock);
            }
        });
        std::this_thread::sleep_for(Milliseconds(with_sleepers ? 20 : 0));
        const pid_t child = fork();
        if (child == 0) {
            const bool held_before = !lock.try_lock();
            lock.reset_after_fork();
            lock.lock();
            const bool held_again = !lock.try_lock();
            lock.unlock();
            _exit(held_before && held_again && lock.try_lock() ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        done = true;
    }
}

/// Who looks at figures in a handler may have interrupted the holder.
TEST(Lock, AGlanceDoesNotWaitForEver) {
    Lock lock(Rank::leaf);
    {
        const Glance alone(lock);
        EXPECT_TRUE(alone);
        EXPECT_TRUE(lock.held());
    }
    const Guard hold(lock);
    {
        const Glance beside(lock);
        EXPECT_FALSE(beside);
    }
    EXPECT_TRUE(lock.held()); // it is the holder's to let go
}

} // namespace
