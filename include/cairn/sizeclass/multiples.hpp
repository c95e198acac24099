// SPDX-License-Identifier: MIT
//
// Size classes one step apart: an exact list for each size, as in Lea's quicklists.
//
// Adds:    First, First + Step, and so on, up to the first class that holds Largest bytes.
// Needs:   nothing.
// Keeps:   class_of(n) is the smallest class of at least n bytes, so a block longer than First is longer than requested
//          by less than Step.
// Threads: constants.
// Cost:    class_of is an addition, a shift and a comparison.
// Source:  Heap Layers, section 2.1: a linked list for each multiple of 8 bytes below 64.
#pragma once

#include <cairn/sizeclass/classes.hpp>

#include <cairn/core/bits.hpp>

namespace cairn {

template <std::size_t First, std::size_t Step, std::size_t Largest>
struct MultipleClasses {
    static_assert(is_power_of_two(Step), "the step is a power of two");
    static_assert(First > 0 && First <= Largest, "the first class is not above the largest");

    static constexpr unsigned count = static_cast<unsigned>(ceil_div(Largest - First, Step)) + 1;
    static constexpr std::size_t largest = First + (count - 1) * Step;

    static constexpr std::size_t size_of(unsigned c) { return First + c * Step; }

    /// The class of n, n <= largest; the smallest class for n = 0.
    static constexpr unsigned class_of(std::size_t n) {
        return n <= First ? 0 : static_cast<unsigned>((n - First + Step - 1) / Step);
    }

private:
    static constexpr bool proved = [] {
        for (unsigned c = 0; c < count; ++c) {
            const std::size_t least = c == 0 ? 0 : size_of(c - 1) + 1;
            if (class_of(size_of(c)) != c || class_of(least) != c || least > size_of(c)) {
                return false;
            }
        }
        return largest >= Largest && largest - Largest < Step;
    }();
    static_assert(proved, "class_of must be the smallest class that holds the size");
};

/// A class for each multiple of 8 bytes.
template <std::size_t Largest>
using MultiplesOf8 = MultipleClasses<8, 8, Largest>;

static_assert(SizeClasses<MultiplesOf8<64>> && MultiplesOf8<64>::count == 8);

} // namespace cairn
