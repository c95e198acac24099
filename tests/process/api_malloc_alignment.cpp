// SPDX-License-Identifier: MIT
//
// Every entry point gives blocks aligned as its contract says: to 16 bytes from 16 bytes on, to the largest
// power of two that is not above the size below, to the page for valloc and pvalloc.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

static bool aligned(void *p, std::size_t size) {
    const std::size_t alignment = size >= 16 ? 16 : size >= 8 ? 8 : 1;
    const bool good = p != nullptr && reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
    free(p);
    return good;
}

int main() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t size = 1; size < 40 * MiB; size = size < 2048 ? size + 1 : size + size / 7 + 13) {
        CHECK(aligned(malloc(size), size));
        CHECK(aligned(calloc(1, size), size));
        CHECK(aligned(calloc(size, 1), size));
        CHECK(aligned(realloc(nullptr, size), size));
        CHECK(aligned(realloc(malloc(1), size), size));
        CHECK(aligned(reallocarray(nullptr, size, 1), size));
        CHECK(aligned(::operator new(size), size));
        for (void *p : {valloc(size), pvalloc(size)}) {
            CHECK(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % page == 0);
            free(p);
        }
        void *const whole_pages = pvalloc(size);
        CHECK(malloc_usable_size(whole_pages) >= (size + page - 1) / page * page);
        free(whole_pages);
    }
}
