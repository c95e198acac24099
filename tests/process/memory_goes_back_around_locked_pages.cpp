// SPDX-License-Identifier: MIT
//
// A program locks pages of its blocks and frees them without unlocking: the kernel leaves those pages where they are.
// All others go back, by the clock and by malloc_trim, also where such pages lie in many places; and the purger does
// not look again and again.
#include "life_purger_thread.hpp"

#include <malloc.h>
#include <sys/mman.h>

using namespace process_test;

namespace {

constexpr std::size_t page = 4 * KiB;

Burst burst;

/// A block in each 5 MiB.
void many_places() {
    constexpr std::size_t places = 60;
    void *locked[places];
    for (std::size_t i = 0; i < places; ++i) {
        burst.grow_to((5 * i + 5) * MiB);
        locked[i] = malloc(25 * page);
        CHECK(locked[i] != nullptr && mlock(locked[i], 1) == 0);
    }
    free_all(locked);
    burst.free_all();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB after a second, with pages locked in %zu places\n", mebibytes(after), places);
    CHECK(after <= 32 * MiB);
}

/// At the ends of long blocks: `locked` bytes of each.
void at_the_ends(std::size_t locked) {
    constexpr std::size_t length = 8 * MiB;
    constexpr std::size_t count = 30;
    char *blocks[count];
    for (char *&block : blocks) {
        block = static_cast<char *>(malloc(length));
        CHECK(block != nullptr);
        std::memset(block, 1, length);
        CHECK(mlock(block + length - locked, locked) == 0);
    }
    free_all(blocks);
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB after a second, with the last %zu bytes of %zu blocks locked\n", mebibytes(after),
            locked, count);
    CHECK(after <= 32 * MiB);
}

/// A page of every second 64 KiB: the others go back.
void every_second_slot() {
    constexpr std::size_t length = 4 * MiB;
    constexpr std::size_t count = 24;
    char *blocks[count];
    const std::size_t before = resident();
    for (char *&block : blocks) {
        block = static_cast<char *>(malloc(length));
        CHECK(block != nullptr);
        std::memset(block, 1, length);
        for (std::size_t at = 8 * KiB; at < length; at += 128 * KiB) {
            CHECK(mlock(block + at, 1) == 0);
        }
    }
    free_all(blocks);
    const std::size_t allowed = before + count * length / 2 + 8 * MiB;
    const std::size_t after = bytes_after_a_second(resident, allowed);
    dprintf(1, "%.1f MiB after a second, with a page of every second 64 KiB of %zu locked\n",
            mebibytes(after), count * length / (64 * KiB));
    CHECK(after <= allowed);
}

} // namespace

int main() {
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
    many_places();
    at_the_ends(1);
    at_the_ends(100 * KiB);
    CHECK(munlockall() == 0); // where two locked slots are neighbours, more may stay
    every_second_slot();
}
