// SPDX-License-Identifier: MIT
//
// FixedStackHeap: one piece of memory, used from its start upward and freed from its top downward.
//
// Adds:    a stack of blocks (StackHeap) with a limit: free(p) takes p and all that is younger. clear, reset,
//          owns, remaining.
// Needs:   a heap, of which it takes one block, at the first malloc.
// Keeps:   never more than its capacity: `Capacity`, or what the constructor is told, rounded down to whole
//          blocks of 16 bytes. clear and the destructor give the memory back, clear by clearing the heap below where it
//          can be cleared; reset keeps it.
// Threads: one at a time.
// Errors:  nullptr when the capacity is used up, or when the heap below has not so much in one piece: before
//          the first malloc remaining() takes for granted that it has.
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
    struct StackOrder;
    static constexpr std::size_t alignment = quantum;
    static_assert(alignment_of<Super> >= alignment, "the piece of memory must be aligned as its blocks are");

    constexpr FixedStackHeap() = default;
    constexpr explicit FixedStackHeap(std::size_t capacity) : capacity_(align_down(capacity, alignment)) {}
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

    /// All blocks are gone; the memory is kept for the next ones.
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
