// SPDX-License-Identifier: MIT
//
// Sizes that no machine has: NULL and ENOMEM from every entry point, and the next request works.
#include "process_test.hpp"

#include <cerrno>
#include <malloc.h>

using namespace process_test;

static bool refused(void *p) {
    const bool answer = p == nullptr && errno == ENOMEM;
    errno = 0;
    return answer;
}

int main() {
    void *const block = malloc(100);
    for (const std::size_t asked :
         {std::size_t{PTRDIFF_MAX}, std::size_t{PTRDIFF_MAX} + 1, std::size_t{PTRDIFF_MAX} - 4096, SIZE_MAX,
          SIZE_MAX - 1, SIZE_MAX - 7, SIZE_MAX - 4095, SIZE_MAX - 4096, SIZE_MAX - 64 * KiB,
          SIZE_MAX - 32 * MiB, std::size_t{1} << 47, std::size_t{1} << 48, std::size_t{1} << 62,
          (std::size_t{1} << 47) - 4096}) {
        const std::size_t size = opaque(asked);
        errno = 0;
        CHECK(refused(malloc(size)));
        CHECK(refused(calloc(size, 1)));
        CHECK(refused(calloc(1, size)));
        CHECK(refused(realloc(nullptr, size)));
        CHECK(refused(realloc(opaque(block), size)));
        CHECK(refused(reallocarray(opaque(block), size, 1)));
        CHECK(refused(aligned_alloc(16, size)));
        CHECK(refused(aligned_alloc(MiB, size)));
        CHECK(refused(memalign(4096, size)));
        CHECK(refused(valloc(size)));
        CHECK(refused(pvalloc(size)));
        void *out = nullptr;
        CHECK(posix_memalign(&out, 4096, size) == ENOMEM && out == nullptr && errno == 0);
        void *const next = malloc(100);
        CHECK(next != nullptr);
        free(next);
    }
    for (unsigned shift = 40; shift < 64; ++shift) { // alignments beyond all memory
        void *const p = aligned_alloc(opaque(std::size_t{1} << shift), 64);
        CHECK(p != nullptr || errno == ENOMEM || errno == EINVAL);
        free(p);
    }
    free(block);
}
