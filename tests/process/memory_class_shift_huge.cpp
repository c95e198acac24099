// SPDX-License-Identifier: MIT
//
// 96 MiB of small blocks, all freed, then as much in blocks that are mappings of their own, freed, then small
// ones again: memory passes between the two as well, and the peak is no more than 1.5 times what was live.
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr std::size_t total = 96 * MiB;
    constexpr std::size_t smallest = 64;
    static void *blocks[total / smallest];
    std::memset(blocks, 0, sizeof blocks); // resident before the start
    const std::size_t before = resident();
    for (const std::size_t size : {smallest, 32 * MiB, std::size_t{1000}, 48 * MiB}) {
        const std::size_t count = total / size;
        for (std::size_t i = 0; i < count; ++i) {
            blocks[i] = malloc(size);
            CHECK(blocks[i] != nullptr);
            std::memset(blocks[i], 1, size);
        }
        for (std::size_t i = 0; i < count; ++i) {
            free(blocks[i]);
        }
    }
    const std::size_t grown = peak_resident() - before;
    dprintf(1, "peak above start: %.1f MiB of 96 live: %.2f\n", mebibytes(grown), mebibytes(grown) / 96);
    CHECK(grown <= total + total / 2);
}
