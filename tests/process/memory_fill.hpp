// SPDX-License-Identifier: MIT
//
// Memory that is filled with blocks of one size, and freed.
#pragma once

#include "process_test.hpp"

namespace process_test {

/// As many blocks as there are to be had, all freed. Bytes.
inline std::size_t fill_and_free(std::size_t size) {
    void **all = nullptr;
    std::size_t bytes = 0;
    while (auto *const block = static_cast<void **>(malloc(size))) {
        *block = all;
        all = block;
        bytes += size;
    }
    while (all != nullptr) {
        void *const block = all;
        all = static_cast<void **>(*all);
        free(block);
    }
    return bytes;
}

/// Up to 64 MiB, in blocks of one.
inline void use_and_free(std::size_t bytes) {
    constexpr std::size_t size = 1 * MiB;
    static void *blocks[64];
    const std::size_t count = bytes / size;
    for (std::size_t i = 0; i < count; ++i) {
        std::memset(blocks[i] = std::malloc(size), 1, size);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::free(blocks[i]);
    }
}

/// As often as blocks that are allocated and freed in turn may come without one that looks at the clock.
inline void use_in_turn() {
    for (int i = 0; i < 8; ++i) {
        use_and_free(1 * MiB);
    }
}

/// 96 MiB of the first size, all freed, then as much of the next one, and so on: the peak is no more than 1.5 times
/// what was live.
template <std::size_t N>
void check_peak_of(const std::size_t (&sizes)[N]) {
    constexpr std::size_t total = 96 * MiB;
    constexpr std::size_t smallest = 48;
    static void *blocks[total / smallest];
    std::memset(blocks, 0, sizeof blocks); // resident before the start
    const std::size_t before = resident();
    for (const std::size_t size : sizes) {
        CHECK(size >= smallest);
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

} // namespace process_test
