// SPDX-License-Identifier: MIT
//
// StaticBufferHeap: memory inside the heap object itself, so wherever that is: static, on a stack, in another
// object.
//
// Adds:    malloc, clear, owns, remaining. free does nothing: a layer above reuses blocks.
// Needs:   nothing below; no operating system. It may be constinit, and below UniqueHeap.
// Keeps:   never more than Capacity bytes; nothing to give back. No two blocks share an address, also those of nothing.
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
    static constexpr bool contiguous = true; ///< so a layer above may join blocks: free does nothing
    static constexpr bool takes_others = true;

    StaticBufferHeap() = default;
    StaticBufferHeap(const StaticBufferHeap &) = delete;
    StaticBufferHeap &operator=(const StaticBufferHeap &) = delete;

    void *malloc(std::size_t size) {
        if (size > remaining()) {
            return nullptr;
        }
        // A block of nothing takes room like one of a byte: an address that is its own, and that owns() knows.
        const std::size_t need = align_up(std::max<std::size_t>(size, 1), alignment);
        if (need > remaining()) {
            return nullptr;
        }
        void *const block = buffer_.bytes + used_;
        used_ += need;
        return block;
    }

    void free(void *) {}
    void clear() { used_ = 0; }

    bool owns(const void *p) const { return address_of(p) - address_of(buffer_.bytes) < used_; }
    std::size_t remaining() const { return Capacity - used_; }

private:
    /// Not initialised, but where that is done by the compiler and costs nothing: it leaves no member without a value.
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
    std::size_t used_ = 0;
};

static_assert(ClearableHeap<StaticBufferHeap<64>> && OwningHeap<StaticBufferHeap<64>> &&
              BoundedHeap<StaticBufferHeap<64>>);

} // namespace cairn
