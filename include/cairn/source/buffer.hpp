// SPDX-License-Identifier: MIT
//
// BufferHeap: memory that the caller provides: a buffer on the stack, a mapping, memory of a device.
//
// Adds:    malloc, clear, owns, remaining. free does nothing: a layer above reuses blocks.
// Needs:   nothing below. The constructor takes a pointer and a length; the buffer outlives the heap. Layers with one
//          heap below pass constructor arguments on: Compose<BufferHeap, Freelist> list(buffer, sizeof buffer).
// Keeps:   blocks lie in the buffer, of which up to 15 bytes at each end stay unused. The heap writes nothing to the
//          buffer. No two blocks have the same address, not even empty ones.
// Threads: one at a time.
// Errors:  nullptr when the buffer is used up.
// Cost:    a handful of instructions; up to 15 bytes a block.
// Source:  ours; StaticBufferHeap has the buffer as a member.
#pragma once

#include <cairn/core/concepts.hpp>

#include <algorithm>

namespace cairn {

class BufferHeap {
public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< adjacent blocks, free does nothing: a layer may join them
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
        // malloc(0) takes as much as malloc(1): a distinct address that owns() recognises.
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
    std::size_t capacity_ = 0; ///< a multiple of the alignment, as used_
    std::size_t used_ = 0;
};

static_assert(ClearableHeap<BufferHeap> && OwningHeap<BufferHeap> && BoundedHeap<BufferHeap>);

} // namespace cairn
