// SPDX-License-Identifier: MIT
// ulimit-v: 524288
//
// The kernel unmaps nothing, as it may refuse to where that makes one mapping of two and there are as many as there may
// be: address space that could not be given back serves blocks as before.
#include "memory_fill.hpp"
#include "works_filter.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    const std::size_t first = fill_and_free(30000);
    Filter().deny(SYS_munmap, ENOMEM).install();
    for (int round = 0; round < 3; ++round) {
        malloc_trim(0);
        const std::size_t again = fill_and_free(30000);
        dprintf(1, "%.1f MiB, then %.1f\n", mebibytes(first), mebibytes(again));
        CHECK(again > first - first / 8);
    }
}
