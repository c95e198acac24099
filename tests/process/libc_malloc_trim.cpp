// SPDX-License-Identifier: MIT
//
// malloc_trim: says whether memory went back, and it did, but for the pad.
// env: CAIRN_OPTIONS=purge_delay:never,background:off
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

/// All but one block in 4,000, so that free memory lies in many stretches: one is given back whole or not.
void use_and_free(std::size_t bytes) {
    constexpr std::size_t size = 1000;
    static void *blocks[200 * MiB / size];
    const std::size_t count = bytes / size;
    for (std::size_t i = 0; i < count; ++i) {
        std::memset(blocks[i] = std::malloc(size), 1, size);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::free(i % 4000 == 0 ? nullptr : blocks[i]);
    }
}

} // namespace

int main() {
    use_and_free(4 * MiB);
    malloc_trim(0);
    const std::size_t before = resident();
    use_and_free(100 * MiB);
    CHECK(resident() > before + 90 * MiB);
    CHECK(malloc_trim(0) == 1);
    CHECK(resident() < before + 8 * MiB);
    CHECK(malloc_trim(0) == 0);

    use_and_free(100 * MiB);
    CHECK(malloc_trim(32 * MiB) == 1);
    const std::size_t kept = resident() - before;
    CHECK(kept > 24 * MiB && kept < 44 * MiB);
    CHECK(malloc_trim(64 * MiB) == 0);
}
