// SPDX-License-Identifier: MIT
//
// BufferHeap: memory that the program has already, wherever that is: a buffer on the stack, a mapping, a device's.
//
// Adds:    malloc, clear, owns, remaining. free does nothing: a layer above reuses blocks.
// Needs:   nothing below; the bytes from a pointer on, which its constructor is given, and which outlive it. Layers with one
//          heap below pass constructor arguments on: Compose<BufferHeap, Freelist> list(buffer, sizeof buffer).
// Keeps:   never more than these bytes, of which up to 15 at each end are left. Nothing is written before it is handed out.
//          No two blocks share an address, also those of nothing.
// Threads: one at a time.
// Errors:  nullptr when the buffer is used up.
// Cost:    a handful of instructions; up to 15 bytes a block.
// Source:  ours; StaticBufferHeap is the one whose memory is its own.
#pragma once

#include <cairn/core/concepts.hpp>

#include <algorithm>

namespace cairn {

class BufferHeap {
public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< so a layer above may join blocks: free does nothing
    static constexpr bool takes_others = true;

    BufferHeap(void *buffer, std::size_t bytes) {
        const std::size_t before = align_up(address_of(buffer), alignment) - address_of(buffer);
        if (bytes > before) {
            start_ = static_cast<unsigned char *>(buffer) + before;
            capacity_ = align_down(bytes - before, alignment);
        }
    }
    BufferHeap(const BufferHeap &) = delete;
    BufferHeap &operator=(const BufferHeap &) = delete;

    void *malloc(std::size_t size) {
        // A block of nothing takes room like one of a byte: an address that is its own, and that owns() knows.
        if (std::max<std::size_t>(size, 1) > remaining()) {
            return nullptr;
        }
        void *const block = start_ + used_;
        used_ += align_up(std::max<std::size_t>(size, 1), alignment);
        return block;
    }

    void free(void *) {}
    void clear() { used_ = 0; }

    bool owns(const void *p) const { return address_of(p) - address_of(start_) < used_; }
    std::size_t remaining() const { return capacity_ - used_; }

private:
    unsigned char *start_ = nullptr;
    std::size_t capacity_ = 0; ///< a multiple of the alignment, as is what is used
    std::size_t used_ = 0;
};

static_assert(ClearableHeap<BufferHeap> && OwningHeap<BufferHeap> && BoundedHeap<BufferHeap>);

} // namespace cairn
