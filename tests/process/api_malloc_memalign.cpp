// SPDX-License-Identifier: MIT
//
// Alignments of 1 byte to 1 GiB with sizes below and above them, by all three calls; blocks of different
// calls do not overlap and are usable to their end. Odd alignments: aligned_alloc refuses, memalign rounds
// up.
#include "process_test.hpp"

#include <cerrno>
#include <malloc.h>

using namespace process_test;

static void touch(void *p, std::size_t size, std::size_t alignment) {
    CHECK(p != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    CHECK(malloc_usable_size(p) >= size);
    auto *const bytes = static_cast<volatile char *>(p);
    if (size > 0) {
        bytes[0] = 1;
        bytes[size / 2] = 2;
        bytes[size - 1] = 3;
    }
}

int main() {
    for (std::size_t alignment = 1; alignment <= GiB; alignment *= 2) {
        const std::size_t sizes[] = {0,   1,    alignment - 1, alignment, alignment + 1, 3 * alignment / 2,
                                     100, 5000, 70000};
        for (const std::size_t size : sizes) {
            if (size > GiB) {
                continue;
            }
            void *const p = aligned_alloc(alignment, size);
            void *const q = memalign(alignment, size);
            void *r = nullptr;
            touch(p, size, alignment);
            touch(q, size, alignment);
            CHECK(p != q);
            if (alignment >= sizeof(void *)) {
                CHECK(posix_memalign(&r, alignment, size) == 0);
                touch(r, size, alignment);
                CHECK(r != p && r != q);
            }
            void *const grown = size <= 64 * MiB ? realloc(p, size + 100) : p; // some copy all of it
            CHECK(grown != nullptr);
            if (size > 0) {
                CHECK(*static_cast<char *>(grown) == 1 || size <= 2);
            }
            free(q);
            free(r);
            free(grown);
        }
    }
    for (const std::size_t odd :
         {std::size_t{3}, std::size_t{24}, std::size_t{100}, std::size_t{5000}, 3 * MiB}) {
        errno = 0;
        CHECK(aligned_alloc(opaque(odd), 64) == nullptr && errno == EINVAL);
        std::size_t power = 1;
        while (power < odd) {
            power *= 2;
        }
        void *const p = memalign(opaque(odd), 64);
        touch(p, 64, power);
        free(p);
    }
    errno = 0;
    CHECK(aligned_alloc(opaque(std::size_t{0}), 64) == nullptr && errno == EINVAL);
    void *const p = memalign(opaque(std::size_t{0}), 64);
    touch(p, 64, 1);
    free(p);
    errno = 0;
    CHECK(memalign(opaque(SIZE_MAX / 2 + 2), 64) == nullptr &&
          errno == EINVAL); // no power of two is so large
    errno = 0;
    CHECK(memalign(opaque(SIZE_MAX / 2 + 1), 64) == nullptr && errno == ENOMEM); // that is one
}
