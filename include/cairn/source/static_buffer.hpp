// SPDX-License-Identifier: MIT
//
// StaticBufferHeap: memory inside the heap object itself, which may be static, on a stack, or a member of another
// object.
//
// Adds:    malloc, clear, owns, remaining. free does nothing: a layer above reuses blocks.
// Needs:   nothing below; no operating system. It may be constinit, and below UniqueHeap.
// Keeps:   blocks lie in a buffer of Capacity bytes. No two blocks have the same address, not even empty ones.
// Threads: one at a time.
// Errors:  nullptr when the buffer is used up.
// Cost:    a handful of instructions; up to 15 bytes a block.
#pragma once

#include <cairn/core/concepts.hpp>

#include <algorithm>
#include <type_traits>

namespace cairn {

template <std::size_t Capacity>
class StaticBufferHeap {
    static_assert(Capacity > 0 && Capacity % quantum == 0,
                  "the last bytes of the buffer would never be used");

public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< adjacent blocks, free does nothing: a layer may join them
    static constexpr bool takes_others = true;

    StaticBufferHeap() = default;
    StaticBufferHeap(const StaticBufferHeap &) = delete;
    StaticBufferHeap &operator=(const StaticBufferHeap &) = delete;

    void *malloc(std::size_t size) {
        // malloc(0) takes as much as malloc(1): a distinct address that owns() recognises.
        if (std::max<std::size_t>(size, 1) > remaining()) {
            return nullptr;
        }
        void *const block = buffer_.bytes + used_;
        used_ += align_up(std::max<std::size_t>(size, 1), alignment);
        return block;
    }

    void free(void *) {}
    void clear() { used_ = 0; }

    bool owns(const void *p) const { return address_of(p) - address_of(buffer_.bytes) < used_; }
    std::size_t remaining() const { return Capacity - used_; }

private:
    /// Initialised only in constant evaluation, where it costs nothing and every member must have a value.
    union Buffer {
        constexpr Buffer() {
            if (std::is_constant_evaluated()) {
                first = 0;
            }
        }
        unsigned char first;
        alignas(alignment) unsigned char bytes[Capacity];
    };
    Buffer buffer_;
    std::size_t used_ = 0; ///< a multiple of the alignment, as Capacity is
};

static_assert(ClearableHeap<StaticBufferHeap<64>> && OwningHeap<StaticBufferHeap<64>> &&
              BoundedHeap<StaticBufferHeap<64>>);

} // namespace cairn
