// SPDX-License-Identifier: MIT
//
// realloc keeps what was in the block, growing and shrinking over every border between the ways that sizes
// are served, 8 bytes to 64 MiB, in one step and in many.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

/// A byte for each place; the block's every byte is written where it is short, samples where it is long: beyond a MiB
/// of every third page, as there the kernel takes most of the time.
static unsigned char expected(std::size_t at, unsigned seed) {
    return static_cast<unsigned char>((at * 31 + at / 251 + seed) & 0xff);
}
static std::size_t step(std::size_t at) {
    return at < 64 * KiB ? 1 : at < MiB ? 509 : 3 * 4096 - 13;
}
static void write(void *p, std::size_t from, std::size_t size, unsigned seed) {
    auto *const bytes = static_cast<unsigned char *>(p);
    for (std::size_t i = from; i < size; i += step(i)) {
        bytes[i] = expected(i, seed);
    }
    bytes[size - 1] = expected(size - 1, seed);
}
static void check(void *p, std::size_t size, unsigned seed) {
    const auto *const bytes = static_cast<unsigned char *>(p);
    for (std::size_t i = 0; i < size; i += step(i)) {
        CHECK(bytes[i] == expected(i, seed));
    }
}

int main() {
    constexpr std::size_t sizes[] = {1,         8,           9,       64,       1000,
                                     8 * KiB,   8 * KiB + 1, 40000,   64 * KiB, 64 * KiB + 1,
                                     100 * KiB, MiB,         3 * MiB, 16 * MiB, 16 * MiB + 1,
                                     17 * MiB,  40 * MiB,    64 * MiB};
    unsigned seed = 0;
    for (const std::size_t from : sizes) { // from each size to each other one
        for (const std::size_t to : sizes) {
            if (from + to > 40 * MiB && (from < 16 * MiB || to < 16 * MiB)) {
                continue; // the copies of the longest ones: once is enough
            }
            void *p = malloc(from);
            CHECK(p != nullptr);
            write(p, 0, from, ++seed);
            p = realloc(p, to);
            CHECK(p != nullptr && malloc_usable_size(p) >= to);
            check(p, from < to ? from : to, seed);
            write(p, 0, to, seed);
            free(p);
        }
    }
    void *p = malloc(8); // up and down in many steps, beside others that stand in the way
    std::size_t size = 8;
    write(p, 0, size, 1);
    void *others[64] = {};
    Random random(1);
    for (int i = 0; i < 400; ++i) {
        const bool up = i % 100 < 60;
        const std::size_t next = up ? size + size / 5 + random.below(100) : size - size / 4;
        const std::size_t to = next < 8 ? 8 : next > 20 * MiB ? 20 * MiB : next;
        void *&other = others[random.below(64)];
        free(other);
        other = malloc(1 + random.below(2 * to));
        p = realloc(p, to);
        CHECK(p != nullptr);
        check(p, size < to ? size : to, 1);
        write(p, 0, to, 1);
        size = to;
    }
    free(p);
    free_all(others);
}
