// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: (double free: free of \1, a free block of size class 64|invalid pointer: free of \1, .*freed twice, .*)\n$
//
// The owner sleeps; others free nearly all of its blocks, so its heap is visited and its superblocks become another
// heap's or free memory. A block of it that was freed then is freed again.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

constexpr unsigned count = 16 * MiB / 64;
static void *blocks[count];
static sem_t filled;

int main() {
    sem_init(&filled, 0, 0);
    pthread_t owner;
    const auto run = [](void *) -> void * {
        for (void *&p : blocks) {
            p = malloc(64);
        }
        sem_post(&filled);
        for (;;) {
            pause();
        }
    };
    CHECK(pthread_create(&owner, nullptr, run, nullptr) == 0);
    sem_wait(&filled);
    for (unsigned i = 0; i < count; ++i) {
        if (i % 64 != 0) {
            free(blocks[i]);
        }
    }
    for (int i = 0; i < 20000; ++i) { // of another class, for which memory has to come from somewhere
        opaque(malloc(1000));
    }
    announce(blocks[count / 2 + 1]);
    free(blocks[count / 2 + 1]);
}
