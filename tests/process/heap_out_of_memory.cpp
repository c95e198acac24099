// SPDX-License-Identifier: MIT
//
// First-class heaps: out of memory is an answer, for blocks of each kind and for heaps; afterwards everything works.
// For a size that no machine has nothing is given up.
// link: so
// ulimit-v: 131072
// env: CAIRN_OPTIONS=purge_delay:never
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <cerrno>

using namespace process_test;

namespace {

/// Takes blocks until there is no memory; each holds the one before it.
void **exhaust(cairn_heap *heap, std::size_t size) {
    void **last = nullptr;
    errno = 0;
    while (auto *const p = static_cast<void **>(cairn_heap_alloc(heap, size))) {
        *p = last;
        last = p;
    }
    CHECK(errno == ENOMEM);
    return last;
}

void free_all(cairn_heap *heap, void **last) {
    while (last != nullptr) {
        auto *const before = static_cast<void **>(*last);
        cairn_heap_free(heap, last);
        last = before;
    }
}

/// What lies about of other blocks is given up for those of a heap.
void takes_what_is_kept() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    for (const std::size_t size : {3 * KiB, 200 * KiB}) {
        void *const huge = std::malloc(30 * MiB);
        CHECK(huge != nullptr);
        std::free(huge); // the mapping is kept for a while
        void **last = nullptr;
        for (std::size_t bytes = 0; bytes < 90 * MiB; bytes += size) {
            auto *const p = static_cast<void **>(cairn_heap_alloc(heap, size));
            CHECK(p != nullptr);
            *p = last;
            last = p;
        }
        free_all(heap, last);
    }
    cairn_heap_destroy(heap);
}

void keeps_what_would_not_help() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    void *const large = std::malloc(8 * MiB);
    CHECK(large != nullptr);
    std::memset(large, 1, 8 * MiB);
    std::free(large); // its pages are kept
    const std::size_t before = resident();
    for (const std::size_t size : {std::size_t{PTRDIFF_MAX}, SIZE_MAX, std::size_t{1} << 47}) {
        errno = 0;
        CHECK(cairn_heap_alloc(heap, opaque(size)) == nullptr && errno == ENOMEM);
        errno = 0;
        CHECK(cairn_heap_aligned_alloc(heap, 4096, opaque(size)) == nullptr && errno == ENOMEM);
    }
    CHECK(resident() + MiB > before);
    cairn_heap_destroy(heap);
}

} // namespace

int main() {
    keeps_what_would_not_help();
    takes_what_is_kept();
    for (int round = 0; round < 3; ++round) {
        cairn_heap *const heap = cairn_heap_create();
        CHECK(heap != nullptr);
        void **last[4];
        unsigned sizes = 0;
        for (const std::size_t size : {8 * MiB, 200 * KiB, 3 * KiB, std::size_t{16}}) {
            last[sizes++] = exhaust(heap, size);
        }
        CHECK(last[0] != nullptr);
        static cairn_heap *heaps[10000];
        unsigned made = 0;
        errno = 0;
        while ((heaps[made] = cairn_heap_create()) != nullptr) {
            CHECK(++made < sizeof heaps / sizeof *heaps);
        }
        CHECK(errno == ENOMEM);
        while (made != 0) {
            cairn_heap_destroy(heaps[--made]);
        }
        for (unsigned i = 0; i < sizes; ++i) {
            free_all(heap, last[i]);
        }
        CHECK(cairn_heap_alloc(heap, 8 * MiB) != nullptr);
        cairn_heap_destroy(heap);
    }
}
