// SPDX-License-Identifier: MIT
//
// First-class heaps: NULL and ENOMEM for sizes and alignments that no machine has, and the next request works. What
// lies free stays, as none of it would help.
// link: so
// env: CAIRN_OPTIONS=purge_delay:never
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <cerrno>

using namespace process_test;

static void refused(cairn_heap *heap, std::size_t alignment, std::size_t size) {
    errno = 0;
    CHECK(cairn_heap_aligned_alloc(heap, alignment, opaque(size)) == nullptr && errno == ENOMEM);
}

int main() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    for (const std::size_t size : {100 * KiB, 8 * MiB, 20 * MiB}) {
        void *const p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
        free(p);
        cairn_heap_free(heap, cairn_heap_alloc(heap, size));
    }
    const std::size_t before = resident();
    for (unsigned shift = 47; shift < 64; ++shift) {
        for (const std::size_t more : {std::size_t{0}, std::size_t{1}, 100 * KiB, 20 * MiB}) {
            const std::size_t size = (std::size_t{1} << shift) + more;
            errno = 0;
            CHECK(cairn_heap_alloc(heap, opaque(size)) == nullptr && errno == ENOMEM);
            errno = 0;
            CHECK(cairn_heap_alloc(heap, opaque(std::size_t{0} - more - 1)) == nullptr && errno == ENOMEM);
            refused(heap, 1, size);
            refused(heap, 4096, size);
            refused(heap, std::size_t{1} << shift, more);
            refused(heap, std::size_t{1} << shift, size);
            cairn_heap_free(heap, cairn_heap_alloc(heap, 100));
        }
    }
    const std::size_t after = resident();
    dprintf(1, "resident before %.1f MiB, after %.1f MiB\n", mebibytes(before), mebibytes(after));
    CHECK(before > 28 * MiB && after + MiB > before);
    cairn_heap_destroy(heap);
}
