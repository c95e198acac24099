// SPDX-License-Identifier: MIT
//
// calloc of blocks of which the program uses a few pages: in memory that was used before these stay few; where all was
// written, the next block reads as zero all the same.
#include "process_test.hpp"

using namespace process_test;

namespace {

void use(std::size_t size, std::size_t stride) {
    char *const p = static_cast<char *>(calloc(1, size));
    CHECK(p != nullptr && p[size - 1] == 0);
    for (std::size_t i = 0; i < size; i += stride) {
        CHECK(p[i] == 0);
        p[i] = 1;
    }
    p[size - 1] = 1;
    free(p);
}

} // namespace

int main() {
    // Of some the ends are in pages of which they have a part.
    for (const std::size_t size : {2 * MiB, 2 * MiB + 1000, 9 * MiB, 9 * MiB + 1, 40 * MiB, 100 * MiB + 5}) {
        for (int i = 0; i < 20; ++i) {
            use(size, size / 10);
        }
        const std::size_t sparse = resident();
        dprintf(1, "%.1f MiB, ten pages of each: resident %.1f MiB\n", mebibytes(size), mebibytes(sparse));
        CHECK(kernel_gives_huge_pages_unasked() || sparse < 8 * MiB);
    }
    for (const std::size_t size : {2 * MiB, 2 * MiB + 1000, 9 * MiB, 9 * MiB + 1, 40 * MiB, 40 * MiB + 5}) {
        for (const std::size_t stride : {std::size_t{1}, size / 10, 4 * KiB, size / 10, 7 * KiB, 13 * KiB}) {
            use(size, stride);
        }
    }
}
