// SPDX-License-Identifier: MIT
//
// The C interface: malloc and the other allocation functions of C23, POSIX and glibc.
//
// malloc, calloc, realloc and the aligned forms each consist of a fast path and of a function NAME_later, which is not
// inlined: so the fast path needs no stack frame and saves no registers, and ends in a jump to the other function.
//
// Errors:  nullptr and errno = ENOMEM when out of memory, EINVAL for a bad alignment; free keeps errno.

#include <cairn/cairn.h>
#include <process_heap.hpp> // of this folder, or of src/family

#include <cerrno>

using cairn::process_heap::heap;

namespace {

CAIRN_COLD void *out_of_memory() {
    errno = ENOMEM;
    return nullptr;
}

void *with_errno(void *p) {
    return CAIRN_LIKELY(p != nullptr) ? p : out_of_memory();
}

/// Medium blocks, and all slow paths.
CAIRN_NOINLINE void *malloc_later(std::size_t size) {
    void *const p = heap.try_malloc_medium(size);
    return CAIRN_LIKELY(p != nullptr) ? p : with_errno(heap.malloc_slow(size));
}

CAIRN_NOINLINE void *calloc_later(std::size_t bytes) {
    return with_errno(heap.malloc_zeroed_slow(bytes));
}

CAIRN_NOINLINE void *aligned_later(std::size_t alignment, std::size_t size) {
    return with_errno(heap.memalign_slow(alignment, size));
}

CAIRN_INLINE void *aligned(std::size_t alignment, std::size_t size) {
    void *const p = heap.try_memalign(alignment, size);
    return CAIRN_LIKELY(p != nullptr) ? p : aligned_later(alignment, size);
}

/// `before`: the result of quick_size(p), which is 0 for a null pointer.
CAIRN_NOINLINE void *realloc_later(void *p, std::size_t before, std::size_t size) {
    if (p == nullptr) {
        return malloc(size);
    }
    if (size == 0) { // as glibc does: a free
        heap.free(p);
        return nullptr;
    }
    return with_errno(heap.reallocate_slow(p, before, size));
}

CAIRN_COLD void *invalid() {
    errno = EINVAL;
    return nullptr;
}

CAIRN_NOINLINE int posix_memalign_later(void **out, std::size_t alignment, std::size_t size) {
    void *const p = heap.memalign_slow(alignment, size);
    if (p == nullptr) {
        return ENOMEM;
    }
    *out = p;
    return 0;
}

} // namespace

/// Refers to lifecycle.cpp: a static link that takes this file out of the archive also takes the functions that run at
/// the start and at the end of the process.
[[gnu::used]] const char *(*const with_lifecycle)() = cairn_version;

// None is declared noexcept: glibc's headers declare the functions so and musl's do not, and clang accepts a definition
// with a weaker exception specification than the header, not one with a stronger. The file is compiled without
// exceptions.
extern "C" {

CAIRN_EXPORT void *malloc(std::size_t size) {
    void *const p = heap.try_malloc(size);
    return CAIRN_LIKELY(p != nullptr) ? p : malloc_later(size);
}

CAIRN_EXPORT void free(void *p) {
    heap.free(p);
}

CAIRN_EXPORT void *calloc(std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    if (CAIRN_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        return calloc_later(SIZE_MAX); // a tail jump with any compiler
    }
    void *const p = heap.try_malloc_zeroed(bytes);
    return CAIRN_LIKELY(p != nullptr) ? p : calloc_later(bytes);
}

CAIRN_EXPORT void *realloc(void *p, std::size_t size) {
    const std::size_t before = heap.quick_size(p);
    return CAIRN_LIKELY(size != 0 && heap.stays(before, size)) ? p : realloc_later(p, before, size);
}

CAIRN_EXPORT void *reallocarray(void *p, std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    if (CAIRN_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        return out_of_memory();
    }
    return realloc(p, bytes);
}

CAIRN_EXPORT void free_sized(void *p, std::size_t) {
    heap.free(p);
}
CAIRN_EXPORT void free_aligned_sized(void *p, std::size_t, std::size_t) {
    heap.free(p);
}

CAIRN_EXPORT void *aligned_alloc(std::size_t alignment, std::size_t size) {
    return CAIRN_LIKELY(cairn::is_power_of_two(alignment)) ? aligned(alignment, size) : invalid();
}

/// glibc's memalign rounds an odd alignment up to the next power of two.
CAIRN_EXPORT void *memalign(std::size_t alignment, std::size_t size) {
    return CAIRN_LIKELY(alignment <= SIZE_MAX / 2 + 1) ? aligned(std::bit_ceil(alignment), size) : invalid();
}

CAIRN_EXPORT int posix_memalign(void **out, std::size_t alignment, std::size_t size) {
    if (!cairn::is_power_of_two(alignment) || alignment < sizeof(void *)) {
        return EINVAL;
    }
    void *const p = heap.try_memalign(alignment, size);
    if (CAIRN_UNLIKELY(p == nullptr)) {
        return posix_memalign_later(out, alignment, size);
    }
    *out = p;
    return 0;
}

CAIRN_EXPORT void *valloc(std::size_t size) {
    return aligned(cairn::platform::vm::page_size(), size);
}

CAIRN_EXPORT void *pvalloc(std::size_t size) {
    const std::size_t page = cairn::platform::vm::page_size();
    if (size > SIZE_MAX - page) {
        return out_of_memory();
    }
    return aligned(page, size == 0 ? page : cairn::align_up(size, page));
}

CAIRN_EXPORT std::size_t malloc_usable_size(void *p) {
    return p == nullptr ? 0 : heap.getSize(p);
}

} // extern "C"
