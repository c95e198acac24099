// SPDX-License-Identifier: MIT
//
// A thread is stopped where it makes the key of the thread slots: others get their numbers, also in the child of a
// fork, which does not have that thread.
#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace {

std::binary_semaphore stopped(0), go_on(0);
thread_local bool is_to_stop = false;

int make_key(pthread_key_t *key, void (*end)(void *)) {
    if (is_to_stop) {
        stopped.release();
        go_on.acquire();
    }
    return pthread_key_create(key, end);
}

} // namespace

#define pthread_key_create make_key
#include <cairn/thread/thread_slot.hpp>
#undef pthread_key_create

namespace cairn {
namespace {

TEST(ThreadSlotDeathTest, NeedNoThreadThatIsStoppedWhileItMakesTheKey) {
    unsigned slot = no_thread_slot;
    std::thread first([&slot] {
        is_to_stop = true;
        slot = thread_slot();
    });
    stopped.acquire();
    EXPECT_EXIT(_exit(thread_slot() == no_thread_slot), testing::ExitedWithCode(0), "");
    EXPECT_EQ(thread_slot(), 0u);
    go_on.release();
    first.join();
    EXPECT_EQ(slot, 1u);
}

} // namespace
} // namespace cairn
