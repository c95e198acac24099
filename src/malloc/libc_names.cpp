// SPDX-License-Identifier: MIT
//
// The second names of glibc's allocation functions, for programs that define malloc or a related function and call
// these names from it: the blocks then come from this heap and can be freed by its free. And cfree, which old programs
// call.
//
// In a file of its own: a static link takes it only if one of these is called.
#include <cairn/platform/features.hpp>

#include <cstddef>
#include <cstdlib>

extern "C" {

void *memalign(std::size_t alignment, std::size_t size); // no noexcept: malloc.cpp
void *pvalloc(std::size_t size);

CAIRN_EXPORT void *libc_malloc(std::size_t size) noexcept asm("__libc_malloc");
CAIRN_EXPORT void *libc_calloc(std::size_t count, std::size_t size) noexcept asm("__libc_calloc");
CAIRN_EXPORT void *libc_realloc(void *p, std::size_t size) noexcept asm("__libc_realloc");
CAIRN_EXPORT void libc_free(void *p) noexcept asm("__libc_free");
CAIRN_EXPORT void *libc_memalign(std::size_t alignment, std::size_t size) noexcept asm("__libc_memalign");
CAIRN_EXPORT void *libc_valloc(std::size_t size) noexcept asm("__libc_valloc");
CAIRN_EXPORT void *libc_pvalloc(std::size_t size) noexcept asm("__libc_pvalloc");
CAIRN_EXPORT int libc_posix_memalign(void **out, std::size_t alignment, std::size_t size) noexcept
    asm("__posix_memalign");

void *libc_malloc(std::size_t size) noexcept {
    return malloc(size);
}
void *libc_calloc(std::size_t count, std::size_t size) noexcept {
    return calloc(count, size);
}
void *libc_realloc(void *p, std::size_t size) noexcept {
    return realloc(p, size);
}
void libc_free(void *p) noexcept {
    free(p);
}
void *libc_memalign(std::size_t alignment, std::size_t size) noexcept {
    return memalign(alignment, size);
}
void *libc_valloc(std::size_t size) noexcept {
    return valloc(size);
}
void *libc_pvalloc(std::size_t size) noexcept {
    return pvalloc(size);
}
int libc_posix_memalign(void **out, std::size_t alignment, std::size_t size) noexcept {
    return posix_memalign(out, alignment, size);
}

CAIRN_EXPORT void cfree(void *p) noexcept {
    free(p);
}

} // extern "C"
