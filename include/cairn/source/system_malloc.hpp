// SPDX-License-Identifier: MIT
//
// MallocHeap: the program's malloc as a heap.
//
// Adds:    malloc, free, memalign, reallocate, malloc_zeroed, calloc, getSize.
// Needs:   a C library with malloc_usable_size.
// Keeps:   an object has no state: all MallocHeaps are one heap, so destroying an object frees no block.
// Threads: any.
// Errors:  nullptr, as malloc.
// Cost:    that of malloc.
// Source:  Heap Layers, Table 1: mallocHeap.
#pragma once

#include <cairn/core/concepts.hpp>

#include <cstdlib>

#include <malloc.h>

namespace cairn {

class MallocHeap {
public:
    /// Every MallocHeap can read the size of every other one's blocks.
    using SizeRecord = MallocHeap;
    static constexpr bool takes_others = true;

    void *malloc(std::size_t size) { return std::malloc(size); }
    void free(void *p) { std::free(p); }
    void *memalign(std::size_t wanted, std::size_t size) { return ::memalign(wanted, size); }
    void *reallocate(void *p, std::size_t size) { return std::realloc(p, size); }
    void *malloc_zeroed(std::size_t size) { return std::calloc(1, size); }
    void *calloc(std::size_t count, std::size_t size) { return std::calloc(count, size); }
    static std::size_t getSize(void *p) { return malloc_usable_size(p); }
};

static_assert(SelfSizedHeap<MallocHeap> && AlignedHeap<MallocHeap> && ReallocatingHeap<MallocHeap> &&
              ZeroingHeap<MallocHeap> && ArrayHeap<MallocHeap>);

} // namespace cairn
