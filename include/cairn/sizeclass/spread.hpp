// SPDX-License-Identifier: MIT
//
// Spread size classes: long blocks whose first lines are not all in the same sets of a cache.
//
// Adds:    to other classes, above their table_limit, a cache line each, so that blocks which follow each other begin at different lines of
//          a page. For who asks for an alignment, a natural class for each power of two, whose blocks begin at multiples of it.
// Needs:   Sizes: as GeometricSizeClasses.
// Keeps:   class_of(n) is the smallest class that holds n bytes; but a natural one for the largest size alone.
// Threads: constants.
// Cost:    class_of is one load.
// Source:  cache colouring: Bonwick, "The slab allocator", 1994, section 4; docs/decisions/long-blocks-are-spread.md.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/geometric.hpp>

namespace cairn {

template <class Sizes>
struct SpreadSizeClasses : Sizes {
    using Sizes::largest;
    using Sizes::table_limit;

    static constexpr unsigned count = Sizes::count + log2_exact(largest / table_limit) -
                                      (largest > table_limit ? 1 : 0); // that of the largest is there
    static_assert(count <= 255);

    /// Blocks that follow each other begin so much farther in a page, each.
    static constexpr std::size_t more = platform::cache_line;

private:
    static constexpr std::array<std::uint32_t, count> sizes_ = [] {
        std::array<std::uint32_t, count> sizes{};
        unsigned c = 0;
        for (unsigned i = 0; i < Sizes::count; ++i) {
            const std::size_t size = Sizes::size_of(i);
            const bool is_long = size > table_limit && size != largest;
            if (!is_long || is_power_of_two(size)) {
                sizes[c++] = static_cast<std::uint32_t>(size);
            }
            if (is_long) {
                sizes[c++] = static_cast<std::uint32_t>(size + more);
            }
        }
        return sizes;
    }();

public:
    static constexpr std::size_t size_of(unsigned c) { return sizes_[c]; }

    /// Whether blocks begin at multiples of any power of two that their size is a multiple of; else of a cache line.
    static constexpr bool is_natural(unsigned c) {
        return size_of(c) <= table_limit || is_power_of_two(size_of(c));
    }

private:
    /// That of n is the one at (n - 1 - more) / step_.
    static constexpr std::size_t step_ = table_limit / Sizes::steps;
    static constexpr std::array<std::uint8_t, largest / step_> long_classes_ = [] {
        std::array<std::uint8_t, largest / step_> table{};
        unsigned c = 0;
        for (std::size_t i = 0; i < table.size(); ++i) {
            const std::size_t longest = std::min((i + 1) * step_ + more, largest);
            while (c + 1 < count && (sizes_[c] < longest || sizes_[c] <= table_limit || is_natural(c))) {
                ++c;
            }
            table[i] = static_cast<std::uint8_t>(c);
        }
        return table;
    }();

public:
    /// table_limit < n <= largest.
    static constexpr unsigned long_class_of(std::size_t n) { return long_classes_[(n - 1 - more) / step_]; }

    /// n <= largest.
    static constexpr unsigned class_of(std::size_t n) {
        return n <= table_limit ? Sizes::small_class_of(n) : long_class_of(n);
    }

    /// The smallest class that holds n bytes and whose blocks are aligned. n and alignment, a power of two, <= largest.
    static constexpr unsigned aligned_class_of(std::size_t n, std::size_t alignment) {
        const std::size_t size = align_up(n == 0 ? 1 : n, alignment);
        if (size <= table_limit || alignment <= platform::cache_line) {
            return class_of(size);
        }
        return natural_class_of(std::bit_ceil(size));
    }

    /// The largest block size / request over all requests from fine_limit on, in thousandths; not of what has to be aligned.
    static constexpr std::size_t worst_ratio_permille = [] {
        std::size_t worst = Sizes::worst_ratio_permille;
        std::size_t least = table_limit + 1;
        for (unsigned c = class_of(least); c < count; ++c) {
            const bool found = class_of(size_of(c)) == c;
            worst = found ? std::max(worst, ceil_div(size_of(c) * 1000, least)) : worst;
            least = found ? size_of(c) + 1 : least;
        }
        return worst;
    }();
    static_assert(worst_ratio_permille <= 1200, "Hoard's b = 1.2");

private:
    static constexpr unsigned natural_class_of(std::size_t power) {
        const unsigned c = class_of(power);
        return c - (size_of(c) != power);
    }

    static constexpr bool proved = [] {
        for (unsigned c = 0; c < count; ++c) {
            const std::size_t size = size_of(c);
            const std::size_t least = c == 0 ? 0 : size_of(c - 1) + 1;
            const bool is_second = size > table_limit && is_power_of_two(size) && size != largest;
            if (is_second ? natural_class_of(size) != c : class_of(size) != c || class_of(least) - c > 1) {
                return false;
            }
        }
        return true;
    }();
    static_assert(
        proved,
        "class_of must be a smallest class that holds the size, and powers of two have a natural one");
};

} // namespace cairn
