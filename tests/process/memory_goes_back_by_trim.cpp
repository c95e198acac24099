// SPDX-License-Identifier: MIT
// env: CAIRN_OPTIONS=background:off,purge_delay:never
//
// Without a helper thread and without a clock nothing goes back by itself; malloc_trim gives it back at once.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    constexpr std::size_t size = 256;
    constexpr unsigned count = 64 * MiB / size;
    static void *blocks[count];
    allocate_all(blocks, size);
    free_all(blocks);
    sleep_seconds(0.1);
    const std::size_t before = resident();
    CHECK(malloc_trim(0) == 1);
    const std::size_t after = resident();
    dprintf(1, "before %.1f MiB, after %.1f MiB\n", mebibytes(before), mebibytes(after));
    CHECK(before > 64 * MiB && after < 16 * MiB);
}
