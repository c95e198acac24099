// SPDX-License-Identifier: MIT
//
// Size classes that are powers of two: Kingsley's.
//
// Adds:    Smallest, 2 * Smallest, and so on: Count classes.
// Needs:   nothing.
// Keeps:   class_of(n) is the smallest class of at least n bytes, so a block longer than Smallest is less than twice as
//          long as requested.
// Threads: constants.
// Cost:    class_of is a handful of instructions: the position of the highest bit.
// Source:  Heap Layers, section 6.1: 29 classes from 8 bytes; its code finds the bit in a loop.
#pragma once

#include <cairn/sizeclass/classes.hpp>

#include <cairn/core/bits.hpp>

namespace cairn {

template <std::size_t Smallest = 8, unsigned Count = 29>
struct PowersOfTwo {
    static_assert(is_power_of_two(Smallest) && Smallest > 1 && Count > 0,
                  "the smallest class is a power of two above 1");
    static_assert(log2_exact(Smallest) + Count <= 8 * sizeof(std::size_t), "the largest class is a size");

    static constexpr unsigned count = Count;
    static constexpr std::size_t largest = Smallest << (Count - 1);

    static constexpr std::size_t size_of(unsigned c) { return Smallest << c; }

    /// The class of n, n <= largest; the smallest class for n = 0.
    static constexpr unsigned class_of(std::size_t n) {
        // n - 1, or 0 for n = 0; with the low bits set, all sizes up to Smallest give one class. No branch, because
        // sizes are hard to predict.
        return static_cast<unsigned>(std::bit_width((n - (n != 0 ? 1 : 0)) | (Smallest - 1))) -
               log2_exact(Smallest);
    }

private:
    static constexpr bool proved = [] {
        for (unsigned c = 0; c < Count; ++c) {
            const std::size_t least = c == 0 ? 0 : size_of(c - 1) + 1;
            if (class_of(size_of(c)) != c || class_of(least) != c || least > size_of(c)) {
                return false;
            }
        }
        return true;
    }();
    static_assert(proved, "class_of must be the smallest class that holds the size");
};

static_assert(SizeClasses<PowersOfTwo<>>);
static_assert(PowersOfTwo<>::largest == 2_GiB, "Kingsley's largest class: 2^31 bytes");

} // namespace cairn
