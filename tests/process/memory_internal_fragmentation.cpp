// SPDX-License-Identifier: MIT
//
// Internal fragmentation: of every size up to 1 MiB, and samples beyond, a block is at most 1.2 times as long
// as asked for from 128 bytes on, and at most 15 bytes longer below.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    double worst = 0;
    std::size_t worst_at = 0;
    std::size_t most_below = 0;
    for (std::size_t size = 1; size < 64 * MiB; size = size < 128 * KiB ? size + 1
                                                       : size < MiB     ? size + 97
                                                                        : size + size / 9) {
        void *const p = malloc(size);
        CHECK(p != nullptr);
        const std::size_t usable = malloc_usable_size(p);
        free(p);
        if (size < 128) {
            CHECK(usable - size <= 15);
            most_below = usable - size > most_below ? usable - size : most_below;
        } else {
            const double ratio = static_cast<double>(usable) / static_cast<double>(size);
            if (ratio > worst) {
                worst = ratio;
                worst_at = size;
            }
        }
    }
    dprintf(1, "below 128 bytes: at most %zu more; above: %.4f at %zu bytes\n", most_below, worst, worst_at);
    CHECK(worst <= 1.2);
}
