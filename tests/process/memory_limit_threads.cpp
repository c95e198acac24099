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
    constexpr int rounds = 10;
    static std::size_t counts[rounds][2];
    std::atomic<int> started{0};
    // The same two threads in all rounds: what was freed keeps its address space, in which there may be no room for
    // another stack.
    in_threads(2, [&](unsigned i) {
        for (int round = 0; round < rounds; ++round) {
            // Nor is there if one has all of the memory before the other is there.
            ++started;
            while (started < 2 * (round + 1)) {
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
            counts[round][i] = n * size;
        }
    });
    std::size_t least = SIZE_MAX;
    for (const auto &count : counts) {
        const std::size_t sum = count[0] + count[1];
        least = sum < least ? sum : least;
    }
    dprintf(1, "at least %zu MiB in each round\n", least / MiB);
    CHECK(least > 4 * MiB);
}
