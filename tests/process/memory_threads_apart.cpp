// SPDX-License-Identifier: MIT
//
// Threads that keep to themselves (threadtest): what one has freed is not held back from the others. Each in
// turn fills and frees 24 MiB; all stay alive, and together they never need more than one did.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr unsigned threads = 8;
    constexpr std::size_t size = 80;
    constexpr unsigned count = 24 * MiB / size;
    static void *blocks[count];
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, threads);
    std::memset(blocks, 0, sizeof blocks);
    const std::size_t before = resident();
    in_threads(threads, [](unsigned i) {
        for (unsigned turn = 0; turn < 2 * threads; ++turn) {
            if (turn % threads == i) {
                allocate_all(blocks, size);
                free_all(blocks);
            }
            pthread_barrier_wait(&barrier);
        }
    });
    const std::size_t grown = peak_resident() - before;
    dprintf(1, "peak above start: %.1f MiB, live at most 24 MiB\n", mebibytes(grown));
    CHECK(grown < 24 * MiB * 5 / 4 + 4 * MiB);
}
