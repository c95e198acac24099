// SPDX-License-Identifier: MIT
// ulimit-v: 524288
//
// The kernel unmaps nothing, as it may refuse to where that makes one mapping of two and there are as many as there may
// be: address space that could not be given back serves blocks as before. The memory of a huge block goes back, though
// its addresses are lost.
#include "memory_fill.hpp"
#include "works_filter.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    const std::size_t first = fill_and_free(30000);
    malloc_trim(0);
    const std::size_t before = resident();
    void *volatile huge = malloc(24 * MiB); // volatile: it is filled, though nothing reads it
    CHECK(huge != nullptr);
    std::memset(huge, 1, 24 * MiB);
    const std::size_t held = resident();
    Filter().deny(SYS_munmap, ENOMEM).install();
    free(huge);
    malloc_trim(0);
    dprintf(1, "resident %.1f MiB, then %.1f\n", mebibytes(held), mebibytes(resident()));
    CHECK(held > before + 23 * MiB && resident() < before + 4 * MiB);
    for (int round = 0; round < 3; ++round) {
        malloc_trim(0);
        const std::size_t again = fill_and_free(30000);
        dprintf(1, "%.1f MiB, then %.1f\n", mebibytes(first), mebibytes(again));
        CHECK(again > first - first / 8);
    }
}
