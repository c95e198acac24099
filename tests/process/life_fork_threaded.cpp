// SPDX-License-Identifier: MIT
//
// 100 forks while other threads allocate and free in tight loops: each child allocates, frees blocks of its
// own, of the parent's threads that it does not have, and of lists that were shared, and ends. Nothing hangs.
#include "process_test.hpp"

#include <atomic>
#include <csignal>
#include <sys/wait.h>

using namespace process_test;

static std::atomic<bool> stop;
static void *of_threads[2][64];
static std::atomic<void *> shared[256];

/// Every way a block can take: small, medium, large, huge; freed here or passed on.
static void work(unsigned seed, unsigned rounds) {
    Random random(seed);
    for (unsigned n = 0; n < rounds && !stop.load(std::memory_order_relaxed); ++n) {
        const std::size_t kind = random.below(1000);
        const std::size_t size = kind < 900   ? 1 + random.below(2000)
                                 : kind < 980 ? 9000 + random.below(50000)
                                 : kind < 998 ? 70000 + random.below(300000)
                                              : 17 * MiB;
        auto *const p = static_cast<char *>(malloc(size));
        CHECK(p != nullptr);
        p[0] = p[size - 1] = 1;
        free(shared[random.below(256)].exchange(p));
    }
}

static void child() {
    alarm(hang_limit);
    void *own[200];
    for (void *&p : own) {
        p = malloc(100);
        CHECK(p != nullptr);
    }
    for (auto &blocks : of_threads) {
        free_all(blocks);
    }
    for (std::atomic<void *> &p : shared) {
        free(p.exchange(nullptr));
    }
    free_all(own);
    work(99, 200);
    in_thread([] { work(98, 50); });
    _exit(0);
}

int main() {
    alarm(hang_limit);
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 3);
    in_threads(3, [](unsigned i) {
        if (i < 2) {
            for (void *&p : of_threads[i]) {
                p = malloc(16 + 100 * i);
            }
        }
        pthread_barrier_wait(&barrier);
        if (i < 2) {
            work(i, ~0u);
            return;
        }
        for (int n = 0; n < 100; ++n) {
            free(malloc(200));
            const pid_t id = fork();
            CHECK(id >= 0);
            if (id == 0) {
                child();
            }
            int status = 0;
            CHECK(waitpid(id, &status, 0) == id);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                dprintf(2, "fork %d: child ended with %#x\n", n, static_cast<unsigned>(status));
                CHECK(false);
            }
        }
        stop = true;
    });
}
