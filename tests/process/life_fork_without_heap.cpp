// SPDX-License-Identifier: MIT
//
// Forks while a thread is inside the allocator that has no heap of its own, since it uses large blocks only; by
// a thread with a heap, and by one without. The child's first large block must not meet a lock that was held.
#include "process_test.hpp"

#include <atomic>
#include <csignal>

using namespace process_test;

static std::atomic<bool> stop;

static void use_large_blocks() {
    while (!stop.load(std::memory_order_relaxed)) {
        void *const p = malloc(200 * KiB);
        void *const q = malloc(70 * KiB);
        CHECK(p != nullptr && q != nullptr);
        free(p);
        free(q);
    }
}

static void fork_often() {
    for (int i = 0; i < 300; ++i) {
        in_child([] {
            alarm(hang_limit);
            free(opaque(malloc(100 * KiB)));
            free(opaque(malloc(64)));
        });
    }
    stop = true;
}

int main() {
    free(opaque(malloc(64))); // the main thread has a heap
    in_threads(2, [](unsigned i) { i == 0 ? fork_often() : use_large_blocks(); });
    stop = false;
    pthread_t other;
    CHECK(pthread_create(
              &other, nullptr,
              [](void *) -> void * {
                  use_large_blocks();
                  return nullptr;
              },
              nullptr) == 0);
    fork_often();
    CHECK(pthread_join(other, nullptr) == 0);
}
