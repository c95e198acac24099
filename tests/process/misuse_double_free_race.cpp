// SPDX-License-Identifier: MIT
// expect-death: ^cairn: (double free|heap corruption|invalid pointer)[^\n]*\n
//
// Two threads free one block at the same time, which may get past the check of the block; then the walk over
// the freed blocks stops the program. A program that lives through all rounds has been handed a block twice.
#include "process_test.hpp"

using namespace process_test;

static pthread_barrier_t barrier;
static void *target;

static void *freeing(void *) {
    for (;;) {
        pthread_barrier_wait(&barrier);
        free(target);
        pthread_barrier_wait(&barrier);
    }
    return nullptr;
}

int main() {
    pthread_barrier_init(&barrier, nullptr, 3);
    pthread_t threads[2];
    for (pthread_t &thread : threads) {
        CHECK(pthread_create(&thread, nullptr, freeing, nullptr) == 0);
    }
    for (int round = 0; round < 10000; ++round) {
        void *const keep = malloc(64);
        target = malloc(64);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        // More blocks than a superblock has: takes in what others have freed.
        constexpr int many = 2048;
        void *blocks[many];
        for (void *&p : blocks) {
            p = malloc(64);
        }
        free_all(blocks);
        free(keep);
    }
}
