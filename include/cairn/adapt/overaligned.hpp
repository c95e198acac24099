// SPDX-License-Identifier: MIT
//
// Over-aligned blocks from any heap, for the C++ adaptors, which say the alignment again when they free.
//
// Adds:    malloc_aligned and free_aligned, a pair: free with the alignment that was asked for.
// Needs:   a heap; its memalign where it has one.
// Keeps:   up to the heap's own alignment they are its malloc and free. A block is at least as large as its
//          alignment: a malloc need not align what is smaller.
// Threads: those of the heap.
// Errors:  nullptr.
// Cost:    without memalign: `wanted` bytes more, in which the word before the block says where the heap's
//          block starts.
#pragma once

#include <cairn/core/concepts.hpp>

#include <algorithm>

namespace cairn {

template <Heap H>
void *malloc_aligned(H &heap, std::size_t wanted, std::size_t size) {
    if (wanted <= alignment_of<H>) {
        return heap.malloc(std::max(size, wanted));
    }
    if constexpr (AlignedHeap<H>) {
        return heap.memalign(wanted, size);
    } else {
        static_assert(alignment_of<H> >= sizeof(void *),
                      "the word before the block lies in the heap's block");
        if (size > SIZE_MAX / 2 || wanted > SIZE_MAX / 4) {
            return nullptr;
        }
        void *const base = heap.malloc(size + wanted);
        if (base == nullptr) {
            return nullptr;
        }
        // The next multiple, never `base` itself: alignment_of<H> bytes at least lie before it.
        const std::size_t offset = align_down(address_of(base), wanted) + wanted - address_of(base);
        auto *const block = reinterpret_cast<void **>(static_cast<char *>(base) + offset);
        block[-1] = base;
        return block;
    }
}

template <Heap H>
void free_aligned(H &heap, void *p, std::size_t wanted) {
    if (AlignedHeap<H> || wanted <= alignment_of<H>) {
        heap.free(p);
    } else {
        heap.free(static_cast<void **>(p)[-1]);
    }
}

} // namespace cairn
