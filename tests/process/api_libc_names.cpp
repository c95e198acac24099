// SPDX-License-Identifier: MIT
//
// A program with a malloc of its own over glibc's other names: the rest of the family frees, resizes and measures its blocks,
// and free under its other name takes what the rest hands out.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void __libc_free(void *);
void *__libc_memalign(std::size_t, std::size_t);
void *__libc_valloc(std::size_t);
void *__libc_pvalloc(std::size_t);

static unsigned calls;

void *malloc(std::size_t size) {
    ++calls;
    return __libc_malloc(size);
}
}

int main() {
    char *const text = strdup("a text");
    CHECK(text != nullptr && calls > 0);
    CHECK(malloc_usable_size(text) >= sizeof "a text");
    auto *const longer = static_cast<char *>(realloc(text, 1000));
    CHECK(longer != nullptr && std::strcmp(longer, "a text") == 0);
    free(longer);

    for (void *const p : {__libc_calloc(3, 1000), __libc_realloc(nullptr, 100), __libc_memalign(256, 100),
                          __libc_valloc(1), __libc_pvalloc(1)}) {
        CHECK(malloc_usable_size(p) >= 1);
        free(p);
    }
    void *aligned = nullptr;
    CHECK(posix_memalign(&aligned, 64, 100) == 0);
    __libc_free(aligned);
}
