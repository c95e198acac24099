// SPDX-License-Identifier: MIT
//
// FallbackHeap: tries two heaps in order.
//
// Adds:    what First has no memory for, by nullptr or std::bad_alloc, is asked of Second. getSize, memalign, owns and clear
//          where both heaps have them.
// Needs:   a heap that can tell its own blocks: First, else Second.
// Keeps:   a block goes back where it came from.
// Threads: one at a time.
// Errors:  nullptr when both have nothing, or what Second throws.
// Cost:    `owns` for free.
// Source:  ours; nullptr as an answer, by which it can be (Heap Layers, section 3, the first guideline).
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/bad_alloc.hpp>

#include <algorithm>
#include <concepts>
#include <utility>

namespace cairn {

template <Heap First, Heap Second>
    requires OwningHeap<First> || OwningHeap<Second>
class FallbackHeap {
public:
    static constexpr std::size_t alignment = std::min(alignment_of<First>, alignment_of<Second>);

    FallbackHeap() = default;
    /// Arguments are for the first heap.
    template <class A, class... B>
        requires std::constructible_from<First, A, B...>
    explicit FallbackHeap(A &&a, B &&...b) : first_(std::forward<A>(a), std::forward<B>(b)...) {}

    void *malloc(std::size_t size) {
        size = std::max<std::size_t>(size, 1); // a block of nothing may have no place that its heap owns
        void *const block = platform::null_for_bad_alloc([&] { return first_.malloc(size); });
        return block != nullptr ? block : second_.malloc(size);
    }

    void free(void *p) {
        if (is_first(p)) {
            first_.free(p);
        } else {
            second_.free(p);
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<First> && AlignedHeap<Second>
    {
        size = std::max<std::size_t>(size, 1);
        void *const block = platform::null_for_bad_alloc([&] { return first_.memalign(wanted, size); });
        return block != nullptr ? block : second_.memalign(wanted, size);
    }

    std::size_t getSize(void *p) const
        requires SizedHeap<First> && SizedHeap<Second>
    {
        return is_first(p) ? first_.getSize(p) : second_.getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<First> && OwningHeap<Second>
    {
        return first_.owns(p) || second_.owns(p);
    }

    void clear()
        requires ClearableHeap<First> && ClearableHeap<Second>
    {
        first_.clear();
        second_.clear();
    }

private:
    bool is_first(const void *p) const {
        if constexpr (OwningHeap<First>) {
            return first_.owns(p);
        } else {
            return !second_.owns(p);
        }
    }

    Second second_;
    First first_;
};

/// As a stage: what is below is asked when First has nothing.
template <class First>
struct Fallback {
    template <class Second>
    using on = FallbackHeap<First, Second>;
};

} // namespace cairn
