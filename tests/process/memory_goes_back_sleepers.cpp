// SPDX-License-Identifier: MIT
//
// Threads that have freed all that they had, a block or two of many size classes each, and sleep: their bins keep
// little.
#include "process_test.hpp"

#include <semaphore.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 63;
constexpr unsigned blocks_each = 50;
sem_t allocated, free_now, freed, over;

void work(unsigned seed) {
    void *blocks[blocks_each];
    for (void *&p : blocks) {
        seed = seed * 1664525 + 1013904223;
        const std::size_t size = 8 + (seed >> 8) % 60000;
        p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
    }
    sem_post(&allocated);
    sem_wait(&free_now);
    free_all(blocks);
    sem_post(&freed);
    sem_wait(&over);
}

} // namespace

int main() {
    for (sem_t *const semaphore : {&allocated, &free_now, &freed, &over}) {
        sem_init(semaphore, 0, 0);
    }
    in_threads(threads + 1, [](unsigned i) {
        if (i < threads) {
            return work(i);
        }
        for (unsigned t = 0; t < threads; ++t) {
            sem_wait(&allocated);
        }
        const std::size_t peak = resident();
        for (unsigned t = 0; t < threads; ++t) {
            sem_post(&free_now);
        }
        for (unsigned t = 0; t < threads; ++t) {
            sem_wait(&freed);
        }
        const std::size_t allowed = 32 * MiB;
        const std::size_t after = bytes_after_a_second(resident, allowed);
        dprintf(1, "peak %.1f MiB, a second after the end %.1f MiB\n", mebibytes(peak), mebibytes(after));
        CHECK(peak > 64 * MiB && after <= allowed);
        for (unsigned t = 0; t < threads; ++t) {
            sem_post(&over);
        }
    });
}
