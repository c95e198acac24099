// SPDX-License-Identifier: MIT
//
// Power size classes: each class is a power of b, rounded to a multiple of the alignment.
//
// Adds:    the sizes, the class of a size, and the worst internal fragmentation.
// Needs:   b = Numerator / Denominator, 1 < b <= 2; Largest, a multiple of 16.
// Keeps:   class_of(n) is the smallest class of at least n bytes; sizes rise; each class above 8 bytes is a multiple of
//          16 (so a block has the alignment that C requires of malloc); a block is at most b times as long as
//          requested, or at most 15 bytes longer.
// Threads: constants.
// Cost:    class_of is one load; the table has a byte for each 8 bytes up to Largest.
// Source:  Hoard, section 3: size classes a power of b apart; section 5: b = 1.2.
#pragma once

#include <cairn/core/bits.hpp>

#include <array>

namespace cairn {

/// 8, 16, then each b times the previous one, rounded down to a multiple of 16 but at least 16 larger, up to Largest.
template <std::size_t Largest, std::size_t Numerator, std::size_t Denominator>
struct PowerSizeClasses {
    static constexpr std::size_t quantum = 16;
    static constexpr std::size_t largest = Largest;
    static_assert(Largest >= quantum && Largest % quantum == 0, "the largest size is a multiple of 16");
    static_assert(Denominator < Numerator && Numerator <= 2 * Denominator, "1 < b <= 2");

private:
    static constexpr std::size_t next_size(std::size_t size) {
        if (size < quantum) {
            return quantum;
        }
        const std::size_t scaled = align_down(size * Numerator / Denominator, quantum);
        const std::size_t next = scaled > size ? scaled : size + quantum;
        return next < Largest ? next : Largest;
    }

public:
    static constexpr unsigned count = [] {
        unsigned n = 1;
        for (std::size_t size = 8; size != Largest; size = next_size(size)) {
            ++n;
        }
        return n;
    }();
    static_assert(count <= 255);

private:
    static constexpr std::array<std::size_t, count> sizes = [] {
        std::array<std::size_t, count> all{};
        std::size_t size = 8;
        for (std::size_t &one : all) {
            one = size;
            size = next_size(size);
        }
        return all;
    }();

    static constexpr std::array<std::uint8_t, Largest / 8 + 1> table = [] {
        std::array<std::uint8_t, Largest / 8 + 1> t{};
        unsigned c = 0;
        for (std::size_t i = 0; i < t.size(); ++i) {
            while (sizes[c] < i * 8) {
                ++c;
            }
            t[i] = static_cast<std::uint8_t>(c);
        }
        return t;
    }();

public:
    static constexpr std::size_t size_of(unsigned c) { return sizes[c]; }

    /// The class of n, n <= largest; the smallest class for n = 0.
    static constexpr unsigned class_of(std::size_t n) { return table[(n + 7) / 8]; }

private:
    static constexpr bool proved = [] {
        for (unsigned c = 0; c < count; ++c) {
            const std::size_t size = sizes[c];
            const std::size_t least = c == 0 ? 0 : sizes[c - 1] + 1; // the smallest request of the class
            if (least > size || class_of(least) != c || class_of(size) != c) {
                return false;
            }
            if (c > 0 && size % quantum != 0) {
                return false;
            }
            const std::size_t bytes = least == 0 ? 1 : least;
            if (size * Denominator > bytes * Numerator && size - bytes > 15) {
                return false;
            }
        }
        return sizes[count - 1] == Largest;
    }();
    static_assert(proved, "class_of must be the smallest class that holds the size, sizes aligned, "
                          "fragmentation at most b or 15 bytes");
};

} // namespace cairn
