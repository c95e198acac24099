// SPDX-License-Identifier: MIT
//
// FixedStackHeap: one block of the heap below, allocated from its start upward and freed from its top downward.
//
// Adds:    a stack of blocks (StackHeap) with a limit: free(p) frees p and all younger blocks. clear, reset, owns,
//          remaining.
// Needs:   a heap, from which it takes one block at the first malloc.
// Keeps:   the blocks together never exceed the capacity: `Capacity`, or the parameter of the constructor, rounded down
//          to a multiple of 16 bytes. clear and the destructor give the memory back, clear also by clearing the heap
//          below where it can be cleared; reset keeps the memory.
// Threads: one at a time.
// Errors:  nullptr when the capacity is used up, or when the heap below has no block of that size; before the first
//          malloc remaining() assumes that it has one.
// Cost:    a handful of instructions; at most 15 bytes a block.
// Source:  Heap Layers, section 5.1: the memory of xalloc, 30 MB of it.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>

namespace cairn {

template <Heap Super, std::size_t Capacity = 30_MiB>
class FixedStackHeap : private Super {
    static_assert(Capacity >= quantum, "no block would ever fit");

public:
    using Super::Super;
    struct StackOrder;
    static constexpr std::size_t alignment = quantum;
    static_assert(alignment_of<Super> >= alignment, "the piece of memory must be aligned as its blocks are");

    constexpr FixedStackHeap() = default;
    constexpr explicit FixedStackHeap(std::size_t capacity)
        requires std::default_initializable<Super>
        : capacity_(align_down(capacity, alignment)) {}
    FixedStackHeap(const FixedStackHeap &) = delete;
    FixedStackHeap &operator=(const FixedStackHeap &) = delete;

    ~FixedStackHeap() { release(); }

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(start_ == nullptr)) {
            start_ = static_cast<char *>(Super::malloc(capacity_));
            if (start_ == nullptr) {
                return nullptr;
            }
        }
        if (CAIRN_UNLIKELY(size > capacity_ - used_)) {
            return nullptr;
        }
        char *const block = start_ + used_;
        used_ += align_up(size, alignment);
        return block;
    }

    void free(void *p) { used_ = address_of(p) - address_of(start_); }

    /// Frees all blocks and keeps the memory for the next ones.
    void reset() { used_ = 0; }

    void clear() {
        release();
        start_ = nullptr;
        used_ = 0;
        if constexpr (ClearableHeap<Super>) {
            Super::clear();
        }
    }

    bool owns(const void *p) const { return address_of(p) - address_of(start_) < used_; }
    std::size_t remaining() const { return capacity_ - used_; }

private:
    void release() {
        if (start_ != nullptr) {
            Super::free(start_);
        }
    }

    char *start_ = nullptr;
    std::size_t used_ = 0;
    std::size_t capacity_ = align_down(Capacity, alignment);
};

template <std::size_t Capacity = 30_MiB>
struct FixedStack {
    template <class Super>
    using on = FixedStackHeap<Super, Capacity>;
};

} // namespace cairn
