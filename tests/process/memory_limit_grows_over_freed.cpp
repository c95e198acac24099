// SPDX-License-Identifier: MIT
// ulimit-v: 524288
//
// A huge block grows where a freed one was: there is no room for both, nor for a second place for the first.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const above = malloc(150 * MiB);
    constexpr std::size_t before = 250 * MiB;
    void *const grows = malloc(before);
    CHECK(above != nullptr && grows != nullptr);
    std::memset(grows, 7, before);
    free(above);
    auto *const p = static_cast<unsigned char *>(realloc(grows, before + 100 * MiB));
    CHECK(p != nullptr);
    CHECK(p[0] == 7 && p[before - 1] == 7);
    std::memset(p + before, 8, 100 * MiB);
    CHECK(p[0] == 7 && p[before - 1] == 7);
    free(p);
}
