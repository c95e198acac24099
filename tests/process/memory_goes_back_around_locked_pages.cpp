// SPDX-License-Identifier: MIT
//
// A program locks pages of its blocks and frees them without unlocking: the kernel leaves those pages where they are.
// All others go back, by the clock and by malloc_trim; and the purger does not look again and again.
#include "life_purger_thread.hpp"

#include <malloc.h>
#include <sys/mman.h>

using namespace process_test;

namespace {

Burst burst;

} // namespace

int main() {
    constexpr std::size_t page = 4 * KiB;
    burst.grow_to(300 * MiB);
    for (std::size_t i = 1; i <= 7; ++i) {
        auto *const block = static_cast<char *>(malloc(100 * KiB * i));
        CHECK(block != nullptr);
        std::memset(block, 1, 100 * KiB * i);
        const auto middle = reinterpret_cast<std::uintptr_t>(block) + 50 * KiB * i;
        if (mlock(reinterpret_cast<void *>(middle / page * page), page) != 0) {
            dprintf(1, "this process may not lock its memory\n");
            return 0;
        }
        burst.grow_to((300 + 10 * i) * MiB);
        free(block);
    }
    burst.free_all();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB after a second\n", mebibytes(after));
    CHECK(after <= 32 * MiB);

    sleep_seconds(1);
    const std::size_t before = sleeps_of_purger();
    sleep_seconds(3);
    const std::size_t times = sleeps_of_purger() - before;
    dprintf(1, "the purger went to sleep %zu times in three seconds\n", times);
    CHECK(times <= 2);

    burst.grow_to(300 * MiB);
    burst.free_all();
    malloc_trim(0);
    const std::size_t trimmed = resident();
    dprintf(1, "%.1f MiB after malloc_trim\n", mebibytes(trimmed));
    CHECK(trimmed <= 16 * MiB);
}
