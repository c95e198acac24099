// SPDX-License-Identifier: MIT
// env: CAIRN_OPTIONS=purge_delay:0
//
// A million live blocks of mixed sizes, held by 64 threads that replace them: the kernel holds hundreds of
// mappings for all of it, of 65,530 that it allows. Two of them are each thread's stack.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr unsigned threads = 64;
    constexpr unsigned each = 16000;
    static void *blocks[threads][each];
    static pthread_barrier_t all_here;
    CHECK(pthread_barrier_init(&all_here, nullptr, threads) == 0);
    static std::size_t now;
    in_threads(threads, [](unsigned thread) {
        Random random(thread + 1);
        const auto replace = [&](void *&p) {
            const std::size_t kind = random.below(10000);
            const std::size_t size = kind < 9900   ? 8 + random.below(120)
                                     : kind < 9995 ? 1000 + random.below(8000)
                                     : kind < 9999 ? 10000 + random.below(200000)
                                                   : 17 * MiB;
            free(p);
            p = malloc(size);
            CHECK(p != nullptr);
            *static_cast<char *>(p) = 1;
        };
        for (int round = 0; round < 2; ++round) {
            for (void *&p : blocks[thread]) {
                replace(p);
            }
        }
        pthread_barrier_wait(&all_here);
        if (thread == 0) {
            now = mappings();
        }
        pthread_barrier_wait(&all_here);
        for (void *const p : blocks[thread]) {
            free(p);
        }
    });
    dprintf(1, "%zu mappings, %.1f MiB resident at most\n", now, mebibytes(peak_resident()));
    CHECK(now < 1000);
}
