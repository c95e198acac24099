// SPDX-License-Identifier: MIT
//
// A program that locks all of its memory, as those do that have to answer in time, has resident what Cairn may use:
// that is little more than what its threads have allocated.
#include "process_test.hpp"

#include <atomic>
#include <sched.h>
#include <sys/mman.h>

using namespace process_test;

namespace {

constexpr unsigned threads = 8;
std::atomic<unsigned> started{0};

void *work(void *) {
    ++started;
    while (started != threads) {
        sched_yield(); // so that each has a heap of its own
    }
    for (std::size_t size = 8; size < 64 * KiB; size += size / 2) {
        CHECK(malloc(size) != nullptr); // for good
    }
    return nullptr;
}

} // namespace

int main() {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        dprintf(1, "this process may not lock its memory\n");
        return 0;
    }
    constexpr std::size_t stack = 256 * KiB; // resident too
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, stack) == 0);
    free(malloc(1));
    const std::size_t first = resident();
    dprintf(1, "%.1f MiB with one block\n", mebibytes(first));
    pthread_t all[threads];
    for (pthread_t &thread : all) {
        CHECK(pthread_create(&thread, &small, work, nullptr) == 0);
    }
    for (const pthread_t thread : all) {
        CHECK(pthread_join(thread, nullptr) == 0);
    }
    dprintf(1, "%.1f MiB after %u threads\n", mebibytes(resident()), threads);
    CHECK(first < 16 * MiB);
    CHECK(resident() - first < threads * 8 * MiB);
}
