// SPDX-License-Identifier: MIT
//
// A thread's stack has the program's thread-local memory in it. However much that is, there is a purger, with room
// enough for what it does.
#include "life_purger_thread.hpp"

using namespace process_test;

#if !defined(LOCAL_BYTES)
#define LOCAL_BYTES 300000
#endif

static thread_local volatile char local[LOCAL_BYTES];
static Burst burst;
static pthread_barrier_t all_have_freed;

/// Has memory of many classes, and stays away: the purger takes what is free of it.
static void *sleep_on_memory(void *) {
    local[0] = 1;
    auto **const blocks = static_cast<void **>(malloc(30000 * sizeof(void *)));
    CHECK(blocks != nullptr);
    for (std::size_t i = 0; i < 30000; ++i) {
        blocks[i] = malloc(1000 + i % 7000);
        CHECK(blocks[i] != nullptr);
        *static_cast<char *>(blocks[i]) = 1;
    }
    for (std::size_t i = 6000; i < 30000; ++i) {
        free(blocks[i]);
    }
    pthread_barrier_wait(&all_have_freed);
    pause();
    return nullptr;
}

int main() {
    local[0] = 1;
    CHECK(pthread_barrier_init(&all_have_freed, nullptr, 4) == 0);
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, sleep_on_memory, nullptr) == 0);
    }
    pthread_barrier_wait(&all_have_freed);
    burst.grow_to(300 * MiB);
    burst.free_all();
    constexpr std::size_t live = 3 * 6000 * (1000 + 6000 / 2);
    constexpr std::size_t most = live + live / 4 + 32 * MiB;
    const std::size_t after = bytes_after_a_second(resident, most);
    dprintf(1, "%.1f MiB, at most %.1f\n", mebibytes(after), mebibytes(most));
    CHECK(after <= most);
    CHECK(thread_named("cairn-purge") != 0);
}
