// SPDX-License-Identifier: MIT
//
// jemalloc's names beyond malloc's: a program that was linked with libjemalloc passes the same blocks to both, as Redis
// 8 asks malloc_usable_size about a block of mallocx. mallctl stays libjemalloc's, which then tells of an empty heap.
#include "process_heap.hpp"

#include <cairn/platform/features.hpp>

#include <cstring>

namespace {

namespace process_heap = cairn::process_heap;
using Classes = process_heap::Heap::SizeClasses;
using std::size_t;

/// Of `flags`, whose other bits choose jemalloc's arenas and caches.
constexpr int lg_alignment = 0x3f;
constexpr int zeroed = 0x40;

constexpr size_t alignment_of(int flags) {
    return size_t{1} << (flags & lg_alignment);
}

void clear(void *p, size_t from) {
    std::memset(static_cast<char *>(p) + from, 0, process_heap::heap.getSize(p) - from);
}

} // namespace

extern "C" {

CAIRN_EXPORT void *mallocx(size_t size, int flags) {
    const size_t alignment = alignment_of(flags);
    const bool as_calloc = (flags & zeroed) != 0 && alignment <= sizeof(void *);
    void *const p =
        as_calloc ? process_heap::heap.malloc_zeroed(size) : process_heap::heap.memalign(alignment, size);
    if (p != nullptr && (flags & zeroed) != 0) {
        clear(p, as_calloc ? size : 0);
    }
    return p;
}

/// The usable bytes of a block of mallocx or rallocx, or fewer where it is longer by what its place leaves (cache
/// colouring) or by what it had before; 0 for one that no machine has.
CAIRN_EXPORT size_t nallocx(size_t size, int flags) {
    const size_t alignment = alignment_of(flags);
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
        return 0;
    }
    return process_heap::heap.serves_from_superblock(size, alignment)
               ? Classes::size_of(Classes::aligned_class_of(size, alignment))
               : cairn::align_up(size, cairn::platform::cache_line);
}

/// Zeroed bytes are those behind the block's former end. What lies before it and in the new block comes along, also
/// beyond `size`: a program that asks for zeros each time reads it later, when the block grows where it is.
CAIRN_EXPORT void *rallocx(void *p, size_t size, int flags) {
    const size_t before = process_heap::heap.getSize(p), alignment = alignment_of(flags);
    void *to = p;
    if (alignment <= sizeof(void *) && ((flags & zeroed) == 0 || size > before)) {
        to = process_heap::heap.reallocate(p, size != 0 ? size : 1);
    } else if (!cairn::is_aligned(p, alignment) || !process_heap::heap.stays(before, size) ||
               before < nallocx(size, flags)) {
        to = process_heap::heap.memalign(alignment, size);
        if (to != nullptr) {
            const size_t after = process_heap::heap.getSize(to);
            std::memcpy(to, p, after < before ? after : before);
            process_heap::heap.free(p);
        }
    }
    if (to != nullptr && (flags & zeroed) != 0 && process_heap::heap.getSize(to) > before) {
        clear(to, before);
    }
    return to;
}

/// Resizes in place, and tells how long the block is then. Here it always stays as it is.
CAIRN_EXPORT size_t xallocx(void *p, size_t, size_t, int) {
    return process_heap::heap.getSize(p);
}

CAIRN_EXPORT size_t sallocx(const void *p, int) {
    return process_heap::heap.getSize(p);
}

CAIRN_EXPORT void dallocx(void *p, int) {
    process_heap::heap.free(p);
}
CAIRN_EXPORT void sdallocx(void *p, size_t, int) {
    process_heap::heap.free(p);
}

} // extern "C"
