// SPDX-License-Identifier: MIT
//
// A burst of 512 MiB, small, large and huge blocks, is freed; a little more than a second later, without any
// call in between, no more than 32 MiB are resident. The same in a process that has huge blocks only.
#include "linked_blocks.hpp"

using namespace process_test;

static void burst(std::size_t total, std::size_t size) {
    free_list(allocate_list(total, size));
}

static void goes_back(const char *what) {
    const std::size_t peak = peak_resident();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%s: peak %.1f MiB, a second after the end %.1f MiB\n", what, mebibytes(peak),
            mebibytes(after));
    CHECK(peak > 128 * MiB);
    CHECK(after <= 32 * MiB);
}

int main() {
    in_child([] {
        alarm(hang_limit);
        burst(160 * MiB, 32 * MiB);
        goes_back("huge blocks only");
    });
    in_threads(4, [](unsigned i) {
        constexpr std::size_t sizes[] = {100, 5000, 500 * KiB, 32 * MiB};
        burst(128 * MiB, sizes[i]);
    });
    goes_back("all sizes");
}
