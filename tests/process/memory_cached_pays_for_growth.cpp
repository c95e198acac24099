// SPDX-License-Identifier: MIT
//
// A huge block that grows by realloc takes memory as any other: what lies in cached mappings goes back for it, without
// the purger's clock.
// env: CAIRN_OPTIONS=purge_delay:never,background:off
#include "process_test.hpp"

using namespace process_test;

int main() {
    constexpr std::size_t cached = 160 * MiB;
    constexpr std::size_t end = 200 * MiB;
    const auto touch = [](char *p, std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; i += 4 * KiB) {
            p[i] = 1;
        }
    };
    char *p = static_cast<char *>(malloc(20 * MiB));
    char *const other = static_cast<char *>(malloc(cached));
    CHECK(p != nullptr && other != nullptr);
    touch(p, 0, 20 * MiB);
    touch(other, 0, cached);
    free(other);
    for (std::size_t size = 20 * MiB; size < end; size += 20 * MiB) {
        p = static_cast<char *>(realloc(p, size + 20 * MiB));
        CHECK(p != nullptr);
        touch(p, size, size + 20 * MiB);
    }
    const std::size_t peak = peak_resident();
    dprintf(1, "peak %.1f MiB, at most %.1f live\n", mebibytes(peak), mebibytes(end));
    CHECK(peak < end + end / 4 + 32 * MiB);
    free(p);
}
