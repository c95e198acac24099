// SPDX-License-Identifier: MIT
//
// SizeClasses: the concept of a generator of size classes, a parameter of many layers.
//
// Needs:   nothing.
// Threads: a concept.
// Cost:    none.
// Source:  Heap Layers, Figure 5: getSizeClass and getClassMaxSize, parameters of StrictSegHeap.
#pragma once

#include <concepts>
#include <cstddef>

namespace cairn {

/// class_of(n) for n <= largest is the smallest class c of `count` with size_of(c) >= n.
template <class C>
concept SizeClasses = requires(std::size_t n) {
    { C::class_of(n) } -> std::same_as<unsigned>;
    { C::size_of(C::class_of(n)) } -> std::same_as<std::size_t>;
    { C::largest } -> std::convertible_to<std::size_t>;
    { C::count } -> std::convertible_to<std::size_t>;
} && C::size_of(C::count - 1) == C::largest;

/// The largest class with size_of(c) <= n: a free block of n bytes fits any request of that class. 0 for n <
/// size_of(0); callers have no such blocks.
template <SizeClasses Classes>
constexpr unsigned class_below(std::size_t n) {
    if (n >= Classes::largest) {
        return static_cast<unsigned>(Classes::count - 1);
    }
    const unsigned c = Classes::class_of(n);
    return c > 0 && Classes::size_of(c) > n ? c - 1 : c;
}

/// Adjacent blocks of one class, the first of which begins at a page, are aligned to `alignment`, the smallest size
/// that is requested; and blocks of a class whose size is a power of two are aligned to that size, up to a page.
template <SizeClasses Classes>
constexpr bool aligns_blocks(std::size_t alignment) {
    if (Classes::largest < alignment) {
        return false;
    }
    for (unsigned c = Classes::class_of(alignment); c < Classes::count; ++c) {
        if (Classes::size_of(c) % alignment != 0) {
            return false;
        }
    }
    for (std::size_t power = alignment; power <= Classes::largest; power *= 2) {
        if (Classes::size_of(Classes::class_of(power)) % power != 0) {
            return false;
        }
    }
    return true;
}

} // namespace cairn
