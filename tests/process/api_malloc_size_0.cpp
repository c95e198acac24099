// SPDX-License-Identifier: MIT
//
// A block of no bytes is a block: not NULL, different from every other, to be freed. realloc to 0 bytes
// frees, as glibc does.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    constexpr int many = 1000;
    static void *blocks[many];
    for (int i = 0; i < many; ++i) {
        const std::size_t none = opaque(std::size_t{0});
        switch (i % 6) {
        case 0:
            blocks[i] = malloc(none);
            break;
        case 1:
            blocks[i] = calloc(none, 10);
            break;
        case 2:
            blocks[i] = calloc(10, none);
            break;
        case 3:
            blocks[i] = realloc(nullptr, none);
            break;
        case 4:
            blocks[i] = aligned_alloc(64, none);
            break;
        default:
            blocks[i] = ::operator new(none);
        }
        CHECK(blocks[i] != nullptr);
        for (int j = 0; j < i; ++j) {
            CHECK(blocks[j] != blocks[i]);
        }
    }
    free_all(blocks);
    for (const std::size_t size : {std::size_t{10}, std::size_t{20000}, MiB, 20 * MiB}) {
        void *const p = malloc(size);
        CHECK(p != nullptr);
        CHECK(realloc(p, opaque(std::size_t{0})) == nullptr);
    }
    CHECK(malloc_usable_size(nullptr) == 0);
    free(nullptr);
}
