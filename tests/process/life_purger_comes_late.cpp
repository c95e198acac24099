// SPDX-License-Identifier: MIT
//
// Superblocks of which hardly a page is used make the process large enough for the purger while next to nothing is
// touched. The purger comes when a thread has freed another one's blocks, and allocates.
#include "life_purger_thread.hpp"

#include <iterator>
#include <malloc.h>

using namespace process_test;

namespace {

constexpr unsigned crew = 4;
void *blocks[crew][64];
pthread_barrier_t barrier;

/// A block of each size class of up to 4 KiB, each the first one of its superblock, and some of 8 KiB.
void *uses_many_superblocks(void *of_mine) {
    auto *const mine = static_cast<void **>(of_mine);
    unsigned count = 0;
    for (; count < 8; ++count) {
        mine[count] = malloc(8 * KiB);
    }
    for (std::size_t size = 1; size <= 4 * KiB; size = malloc_usable_size(mine[count++]) + 1) {
        CHECK(count < std::size(blocks[0]));
        mine[count] = malloc(size);
    }
    pthread_barrier_wait(&barrier);
    for (;;) {
        pause();
    }
}

} // namespace

int main() {
    alarm(hang_limit);
    constexpr std::size_t touched = 12 * MiB - 512 * KiB;
    std::memset(opaque(malloc(touched)), 1, touched);
    CHECK(pthread_barrier_init(&barrier, nullptr, 2) == 0);
    for (void **mine : blocks) {
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, uses_many_superblocks, mine) == 0);
        pthread_barrier_wait(&barrier);
    }
    dprintf(1, "%.1f MiB resident\n", mebibytes(resident()));
    CHECK(thread_named("cairn-purge") == 0);
    for (unsigned i = 0; i < 8; ++i) {
        free(blocks[0][i]);
    }
    for (unsigned i = 0; i < 100; ++i) {
        CHECK(malloc(1000) != nullptr);
    }
    while (thread_named("cairn-purge") == 0) {
        usleep(1000);
    }
}
