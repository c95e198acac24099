// SPDX-License-Identifier: MIT
//
// Capability: the operations of a heap as a bit set, for code that treats all capabilities alike.
//
// Adds:    capabilities_of<H>, one bit for each concept on one operation.
// Needs:   concepts.hpp.
// Keeps:   a bit is set if and only if its concept is satisfied.
// Threads: none.
// Cost:    none at run time.
#pragma once

#include <cairn/core/concepts.hpp>

namespace cairn {

enum class Capability : unsigned {
    none = 0,
    sized = 1u << 0,
    clearable = 1u << 1,
    aligned = 1u << 2,
    reallocating = 1u << 3,
    zeroing = 1u << 4,
    array = 1u << 5,
    owning = 1u << 6,
    bounded = 1u << 7,
    all = (1u << 8) - 1,
};

constexpr Capability operator|(Capability a, Capability b) {
    return static_cast<Capability>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool includes(Capability set, Capability one) {
    return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) == static_cast<unsigned>(one);
}

template <Heap H>
inline constexpr Capability capabilities_of =
    (SizedHeap<H> ? Capability::sized : Capability::none) |
    (ClearableHeap<H> ? Capability::clearable : Capability::none) |
    (AlignedHeap<H> ? Capability::aligned : Capability::none) |
    (ReallocatingHeap<H> ? Capability::reallocating : Capability::none) |
    (ZeroingHeap<H> ? Capability::zeroing : Capability::none) |
    (ArrayHeap<H> ? Capability::array : Capability::none) |
    (OwningHeap<H> ? Capability::owning : Capability::none) |
    (BoundedHeap<H> ? Capability::bounded : Capability::none);

} // namespace cairn
