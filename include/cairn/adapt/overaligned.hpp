// SPDX-License-Identifier: MIT
//
// Over-aligned blocks from any heap, for the C++ adaptors, which pass the alignment again when they free a block.
//
// Adds:    malloc_aligned and free_aligned: a block of the one is freed by the other, with the same alignment.
// Needs:   a heap; its memalign is used where it has one.
// Keeps:   up to the heap's own alignment they call its malloc and free. A block is at least as long as its alignment,
//          because malloc need not align shorter blocks.
// Threads: those of the heap.
// Errors:  nullptr.
// Cost:    without memalign: `wanted` bytes more; the word before the block holds the address of the heap's block.
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
        // The next multiple above `base`, never `base` itself: at least alignment_of<H> bytes lie before it.
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
