// SPDX-License-Identifier: MIT
#include <cairn/platform/thread_id.hpp>
#include <cairn/thread/thread_slot.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <climits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace cairn {
namespace {

constexpr int many = 100;

/// What `f` gives in `many` threads that live at the same time.
template <class F>
std::vector<std::uintptr_t> in_threads(F f) {
    std::vector<std::uintptr_t> all;
    std::mutex mutex;
    std::barrier together(many);
    std::vector<std::thread> threads;
    threads.reserve(many);
    for (int t = 0; t < many; ++t) {
        threads.emplace_back([&] {
            const std::uintptr_t first = f();
            together.arrive_and_wait();
            EXPECT_EQ(f(), first) << "it stays";
            const std::scoped_lock lock(mutex);
            all.push_back(first);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    return all;
}

TEST(ThreadId, IsItsOwnForEachThread) {
    const auto all = in_threads([] { return platform::thread_id(); });
    const std::set<std::uintptr_t> different(all.begin(), all.end());
    EXPECT_EQ(different.size(), std::size_t{many});
    EXPECT_EQ(different.count(0), 0u);
    EXPECT_EQ(different.count(platform::thread_id()), 0u);
}

TEST(ThreadSlot, AreTheLowestNumbersAndGivenAgain) {
    const unsigned mine = thread_slot();
    EXPECT_LE(mine, 1u);
    for (int round = 0; round < 3; ++round) {
        auto all = in_threads([] { return std::uintptr_t{thread_slot()}; });
        all.push_back(mine);
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "two have the same";
        EXPECT_LE(all.back(), std::uintptr_t{many} + 1);
    }
}

/// Destructors of a thread's own data that run after the number was given back.
TEST(ThreadSlot, ServesAThreadThatEnds) {
    struct Late {
        ~Late() { EXPECT_LT(thread_slot(), max_thread_slots); }
    };
    static pthread_key_t key;
    ASSERT_EQ(pthread_key_create(&key, [](void *) { EXPECT_LT(thread_slot(), max_thread_slots); }), 0);
    for (int i = 0; i < 200; ++i) {
        std::thread([] {
            static thread_local const Late late;
            static_cast<void>(&late);
            pthread_setspecific(key, &key);
            EXPECT_LT(thread_slot(), 5u) << "numbers of ended threads are free again";
        }).join();
    }
    pthread_key_delete(key);
}

/// Many libraries' destructors ask to be called again until the last round, and the C library frees after that.
TEST(ThreadSlot, IsNotTakenAgainBehindTheLastDestructor) {
    static pthread_key_t key;
    static std::atomic<unsigned> served{0};
    // ThreadSanitizer's own destructor leaves no thread for the last round.
    constexpr int rounds = PTHREAD_DESTRUCTOR_ITERATIONS - (platform::sanitized ? 1 : 0);
    static thread_local int round = 0;
    const auto again = [](void *) {
        served += thread_slot() != no_thread_slot ? 1u : 0u;
        if (++round < rounds) {
            pthread_setspecific(key, &key);
        }
    };
    static_cast<void>(thread_slot()); // its key before ours: called before ours in each round
    ASSERT_EQ(pthread_key_create(&key, again), 0);
    for (int i = 0; i < 200; ++i) {
        std::thread([] {
            pthread_setspecific(key, &key);
            EXPECT_LT(thread_slot(), 5u) << "numbers of ended threads are free again";
        }).join();
    }
    EXPECT_GE(served, 200u * (PTHREAD_DESTRUCTOR_ITERATIONS - 2)) << "nearly to the end";
    pthread_key_delete(key);
}

} // namespace
} // namespace cairn
