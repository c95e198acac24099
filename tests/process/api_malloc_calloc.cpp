// SPDX-License-Identifier: MIT
//
// calloc gives zeroes, whatever was in the memory before: small, medium, large and huge blocks that were
// written full and freed, purged or not, and split from longer ones.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

static bool zero(const void *p, std::size_t size) {
    const auto *const words = static_cast<const std::uint64_t *>(p);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < size / 8; ++i) {
        all |= words[i];
    }
    for (std::size_t i = size / 8 * 8; i < size; ++i) {
        all |= static_cast<const unsigned char *>(p)[i];
    }
    return all == 0;
}

int main() {
    constexpr std::size_t sizes[] = {1,       8,       16,       100,      1000,    4096,
                                     8192,    9000,    30000,    65536,    65537,   200000,
                                     MiB + 1, 5 * MiB, 16 * MiB, 17 * MiB, 40 * MiB};
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t size : sizes) {
            void *blocks[4];
            for (void *&p : blocks) {
                p = calloc(1, size);
                CHECK(p != nullptr && zero(p, size));
                std::memset(p, 0xff, malloc_usable_size(p));
                if (size > 4 * MiB) { // one is enough of these
                    for (void *&other : blocks) {
                        other = &other == &p ? other : nullptr;
                    }
                    break;
                }
            }
            free_all(blocks);
        }
        if (round == 1) {
            malloc_trim(0);
        }
    }
    // Grown in place over memory that was in use before, then freed and had again.
    void *p = malloc(300000);
    p = realloc(p, 900000);
    std::memset(p, 0xff, 900000);
    p = realloc(p, 100000);
    void *const behind = calloc(1, 700000);
    CHECK(zero(behind, 700000));
    free(p);
    free(behind);
}
