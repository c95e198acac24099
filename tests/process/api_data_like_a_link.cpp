// SPDX-License-Identifier: MIT
//
// Blocks whose first word could be the link of a free one, by its upper half or all of it, are live nevertheless: their
// size is known, they grow, and they are freed once, by whichever thread.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

namespace {

void put(void *p, std::uint64_t word) {
    std::memcpy(p, &word, sizeof word);
}

} // namespace

int main() {
    for (const std::size_t size : {8, 64, 1000, 8000, 20000, 60000}) {
        constexpr std::size_t count = 5;
        void *blocks[count];
        for (void *&p : blocks) {
            p = malloc(size);
        }
        void *const other = malloc(size);
        std::uint64_t link = 0;
        free(other);
        std::memcpy(&link, opaque(other), sizeof link);
        CHECK(link >> 63 != 0); // what a program's pointers and small numbers are not
        CHECK(opaque(malloc(size)) == other);
        for (const std::uint64_t word : {link, link ^ 0x1234567, link ^ 8}) {
            for (void *&p : blocks) {
                put(p, word);
                CHECK(malloc_usable_size(p) >= size);
                p = realloc(p, size + 1);
                CHECK(std::memcmp(p, &word, sizeof word) == 0);
                p = realloc(p, size);
                put(p, word);
            }
            free(blocks[0]);
            in_thread([&] { free(blocks[1]); });
            free(blocks[2]);
            for (std::size_t i = 0; i < 3; ++i) {
                blocks[i] = malloc(size);
            }
            for (std::size_t i = 0; i < count; ++i) {
                std::memset(blocks[i], static_cast<int>(i), size);
            }
            for (std::size_t i = 0; i < count; ++i) {
                const auto *const bytes = static_cast<const unsigned char *>(blocks[i]);
                CHECK(bytes[0] == i && bytes[size - 1] == i);
            }
        }
        free_all(blocks);
        free(other);
    }
}
