// SPDX-License-Identifier: MIT
//
// Threads in a ring: each allocates 2 MiB of blocks, passes them to the next one and frees what it got, over
// and over. Without Hoard's discipline the memory grows with each round; here it stays at the live blocks and
// slack.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr unsigned threads = 4;
    constexpr unsigned rounds = 60;
    constexpr std::size_t size = 128;
    constexpr unsigned count = 2 * MiB / size;
    static void *blocks[threads][count];
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, threads);
    const std::size_t before = resident();
    in_threads(threads, [](unsigned i) {
        for (unsigned round = 0; round < rounds; ++round) {
            for (void *&p : blocks[i]) {
                p = malloc(size);
                CHECK(p != nullptr);
                std::memset(p, 1, size);
            }
            pthread_barrier_wait(&barrier);
            for (void *p : blocks[(i + 1) % threads]) {
                free(p);
            }
            pthread_barrier_wait(&barrier);
        }
    });
    const std::size_t grown = peak_resident() - before;
    const std::size_t live = threads * count * size;
    dprintf(1, "peak above start: %.1f MiB, live at most %.1f MiB\n", mebibytes(grown), mebibytes(live));
    CHECK(grown < live * 4 / 3 + 6 * MiB);
}
