// SPDX-License-Identifier: MIT
// ulimit-v: 65536
//
// Two threads at the limit at the same time: each gets blocks or refusals, never anything else, and what both
// freed is there for the next one.
#include "process_test.hpp"

#include <atomic>
#include <cerrno>
#include <sched.h>

using namespace process_test;

int main() {
    std::size_t least = SIZE_MAX;
    for (int round = 0; round < 10; ++round) {
        std::size_t counts[2] = {};
        std::atomic<int> started{0};
        in_threads(2, [&](unsigned i) {
            // One that has all of the memory already leaves no room for the other's stack.
            ++started;
            while (started != 2) {
                sched_yield();
            }
            constexpr std::size_t most = 4096;
            static void *blocks[2][most];
            const std::size_t size = i == 0 ? 30000 : 100000;
            std::size_t n = 0;
            while (n < most && (blocks[i][n] = malloc(size)) != nullptr) {
                std::memset(blocks[i][n], static_cast<int>(i), 32);
                ++n;
            }
            CHECK(n == most || errno == ENOMEM);
            for (std::size_t b = 0; b < n; ++b) {
                CHECK(static_cast<char *>(blocks[i][b])[31] == static_cast<char>(i));
                free(blocks[i][b]);
            }
            counts[i] = n * size;
        });
        const std::size_t sum = counts[0] + counts[1];
        least = sum < least ? sum : least;
    }
    dprintf(1, "at least %zu MiB in each round\n", least / MiB);
    CHECK(least > 4 * MiB);
}
