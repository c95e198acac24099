// SPDX-License-Identifier: MIT
//
// Sizes that no machine has: NULL and ENOMEM from every entry point, and the next request works. What lies free stays,
// as none of it would help: a program that is told a wrong length again and again is not slower for it.
// env: CAIRN_OPTIONS=purge_delay:never
#include "process_test.hpp"

#include <cerrno>
#include <malloc.h>
#include <sys/resource.h>

using namespace process_test;

static bool refused(void *p) {
    const bool answer = p == nullptr && errno == ENOMEM;
    errno = 0;
    return answer;
}

static void sizes(void *block) {
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
}

// A freed block that waits for its thread is no answer to a size that is as long when its upper bits are lost.
static void sizes_after(std::size_t freed) {
    for (unsigned shift = 47; shift < 64; ++shift) {
        for (const std::size_t more : {std::size_t{0}, std::size_t{1}, freed}) {
            const std::size_t size = opaque((std::size_t{1} << shift) + more);
            free(opaque(malloc(freed)));
            CHECK(refused(malloc(size)));
            CHECK(refused(calloc(1, size)));
            CHECK(refused(realloc(nullptr, size)));
            CHECK(refused(memalign(64, size)));
        }
    }
}

int main() {
    void *const block = malloc(100);
    void *const large = malloc(8 * MiB);
    void *const huge = malloc(20 * MiB);
    std::memset(large, 1, 8 * MiB);
    std::memset(huge, 1, 20 * MiB);
    free(large);
    free(huge);
    for (unsigned kib = 64; kib <= 512; kib += 64) {
        sizes_after(kib * KiB);
    }
    for (const bool limited : {false, true}) {
        const rlimit most{rlim_t{1} << 50,
                          rlim_t{1} << 50}; // more than there is: where a limit is, the heap is sparing
        CHECK(!limited || setrlimit(RLIMIT_AS, &most) == 0);
        const std::size_t before = resident();
        sizes(block);
        const std::size_t after = resident();
        dprintf(1, "resident before %.1f MiB, after %.1f MiB\n", mebibytes(before), mebibytes(after));
        CHECK(before > 28 * MiB && after + MiB > before);
    }
    for (unsigned shift = 40; shift < 64; ++shift) { // alignments beyond all memory
        void *const p = aligned_alloc(opaque(std::size_t{1} << shift), 64);
        CHECK(p != nullptr || errno == ENOMEM || errno == EINVAL);
        free(p);
    }
    free(block);
}
