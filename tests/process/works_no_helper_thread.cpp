// SPDX-License-Identifier: MIT
//
// Where no further thread can be started (a sandbox, a limit on tasks), free memory goes back all the same: by
// the calls that the program makes.
#include "works_filter.hpp"

using namespace process_test;

int main() {
    Filter().deny(SYS_clone, EAGAIN).deny(SYS_clone3, EAGAIN).install();
    constexpr std::size_t size = 1000;
    constexpr unsigned count = 128 * MiB / size;
    static void *blocks[count];
    allocate_all(blocks, size);
    free_all(blocks);
    const std::size_t before = resident();
    for (int i = 0; i < 20; ++i) { // a program that is not idle
        for (unsigned k = 0; k < 4000; ++k) {
            blocks[k] = malloc(size);
            CHECK(blocks[k] != nullptr);
        }
        for (unsigned k = 0; k < 4000; ++k) {
            free(blocks[k]);
        }
        sleep_seconds(0.1);
    }
    dprintf(1, "%.1f MiB resident after the burst, %.1f MiB later\n", mebibytes(before),
            mebibytes(resident()));
    CHECK(resident() < 36 * MiB);
}
