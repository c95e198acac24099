// SPDX-License-Identifier: MIT
//
// FallbackHeap: asks a second heap when the first one is out of memory.
//
// Adds:    a request for which First returns nullptr or throws std::bad_alloc goes to Second. getSize, memalign, owns
//          and clear where both heaps have them.
// Needs:   a heap that owns() its blocks: First, or else Second.
// Keeps:   a block is freed to the heap that it came from.
// Threads: one at a time.
// Errors:  nullptr when both heaps are out of memory, or the exception of Second.
// Cost:    a call of `owns` for each free.
// Source:  ours; it relies on heaps that report out of memory by nullptr (Heap Layers, section 3, the first guideline).
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <concepts>
#include <utility>

namespace cairn {

template <Heap First, Heap Second>
    requires OwningHeap<First> || OwningHeap<Second>
class CAIRN_BY_EXCEPTIONS FallbackHeap {
public:
    static constexpr std::size_t alignment = std::min(alignment_of<First>, alignment_of<Second>);

    FallbackHeap() = default;
    /// The arguments are passed to the first heap.
    template <class A, class... B>
        requires std::constructible_from<First, A, B...>
    explicit FallbackHeap(A &&a, B &&...b) : first_(std::forward<A>(a), std::forward<B>(b)...) {}

    void *malloc(std::size_t size) {
        size = std::max<std::size_t>(size, 1); // a heap may not own the address of an empty block
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

/// The stage: the heap below is asked when First is out of memory.
template <class First>
struct Fallback {
    template <class Second>
    using on = FallbackHeap<First, Second>;
};

} // namespace cairn
