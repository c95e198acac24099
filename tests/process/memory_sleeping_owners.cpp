// SPDX-License-Identifier: MIT
//
// Threads that sleep keep little, whoever frees their blocks: a ring in which one works at a time, each freeing what
// the one before it has allocated. With membarrier, and in a process that never had it.
#include "works_filter.hpp"

#include <semaphore.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 8;
constexpr std::size_t size = 256;
constexpr unsigned count = 16 * MiB / size;
void *blocks[count];
sem_t turns[threads];

void fill() {
    allocate_all(blocks, size);
}

void clear() {
    for (void *&p : blocks) {
        free(p);
        p = nullptr;
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 1) {
        Filter filter;
        const int status = filter.deny(SYS_membarrier, EPERM).run_anew(argv, "without");
        CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    }
    for (unsigned i = 0; i < threads; ++i) {
        sem_init(&turns[i], 0, i == 0);
    }
    const std::size_t before = resident();
    in_threads(threads, [](unsigned i) {
        for (int round = 0; round < 3; ++round) {
            sem_wait(&turns[i]);
            clear();
            fill();
            sem_post(&turns[(i + 1) % threads]);
        }
    });
    const std::size_t grown = peak_resident() - before;
    const std::size_t live = count * size;
    dprintf(1, "%s: peak above start %.1f MiB, live at most %.1f MiB\n", argc == 1 ? "with" : argv[1],
            mebibytes(grown), mebibytes(live));
    CHECK(grown < live + threads * 128 * KiB + 4 * MiB);
}
