// SPDX-License-Identifier: MIT
//
// A program with a malloc of its own over glibc's other names: the rest of the family frees, resizes and measures its
// blocks, and free under its other name takes what the rest hands out. Each other name does what the name itself does.
#include "process_test.hpp"

#include <dlfcn.h>
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

namespace {

/// One that nothing can be linked with any more.
template <class Function>
Function *old(const char *name) {
    auto *const found = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
    CHECK(found != nullptr);
    return found;
}

/// The other names are those of functions that do the same.
void same() {
    auto *const cfree = old<void(void *)>("cfree");
    auto *const libc_posix_memalign = old<int(void **, std::size_t, std::size_t)>("__posix_memalign");
    constexpr std::size_t size = 3000;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto aligned = [](void *p, std::size_t to, std::size_t usable) {
        CHECK(reinterpret_cast<std::uintptr_t>(p) % to == 0 && malloc_usable_size(p) >= usable);
    };
    // No other block is in between: each gets the one that the last one has given back.
    for (int i = 0; i < 100; ++i) {
        auto *const dirty = static_cast<char *>(opaque(__libc_malloc(size)));
        std::memset(dirty, 1, size);
        __libc_free(dirty);
        auto *const clean = static_cast<char *>(opaque(__libc_calloc(3, size / 3)));
        CHECK(clean == dirty && clean[0] == 0 && std::memcmp(clean, clean + 1, size - 1) == 0);
        std::memset(clean, 2, size);
        auto *const longer = static_cast<char *>(opaque(__libc_realloc(clean, 10 * size)));
        CHECK(longer[0] == 2 && longer[size - 1] == 2);
        cfree(longer);
        auto *const again = static_cast<char *>(opaque(__libc_malloc(10 * size)));
        CHECK(again == longer);
        __libc_free(again);
    }
    for (int i = 0; i < 20; ++i) { // in a row: one may be aligned by chance
        aligned(__libc_memalign(1024, 100), 1024, 100);
        aligned(__libc_valloc(1), page, 1);
        aligned(__libc_pvalloc(page + 1), page, 2 * page);
        void *out = nullptr;
        CHECK(libc_posix_memalign(&out, 1024, 100) == 0);
        aligned(out, 1024, 100);
    }
}

} // namespace

int main() {
    same();
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
