// SPDX-License-Identifier: MIT
//
// Spread size classes: medium blocks whose first cache lines do not all fall into the same sets of a cache (cache
// colouring).
//
// Adds:    to the classes of Short, larger ones: five to a doubling, each longer by a cache line, so that adjacent
//          blocks begin at different lines of a page. For aligned requests, a natural class for each power of two,
//          whose blocks begin at multiples of it.
// Needs:   Short: classes as GeometricSizeClasses, up to the end of its table.
// Keeps:   class_of(n) is the smallest class of at least n bytes that is not natural; a natural one only for the
//          largest size.
// Threads: constants.
// Cost:    class_of is one load.
// Source:  cache colouring: Bonwick, "The slab allocator", 1994, section 4; docs/decisions/cache-colouring.md,
//          docs/decisions/medium-size-classes.md.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/geometric.hpp>

#include <algorithm>

namespace cairn {

template <class Short, std::size_t Largest>
struct SpreadSizeClasses : Short {
    static constexpr std::size_t largest = Largest;
    using Short::table_limit;
    static_assert(Short::largest == table_limit && is_power_of_two(largest) && largest >= table_limit,
                  "short classes end with their table, and the largest size is a power of two, no shorter");

    /// The distance by which the start of each block in its page differs from that of the previous block.
    static constexpr std::size_t more = platform::cache_line;

private:
    /// The five classes of a doubling, in 32nds of the power of two below them: nearly equal ratios, and among them 1.5
    /// and 1.75 times the power, which programs often request.
    static constexpr std::array<std::size_t, 5> parts_ = {37, 42, 48, 56, 64};
    static constexpr unsigned doublings_ = log2_exact(largest / table_limit);

public:
    static constexpr unsigned count =
        Short::count + doublings_ * parts_.size() +
        (doublings_ == 0 ? 0 : doublings_ - 1); // natural classes, except that of the largest size
    static_assert(count <= 255);

private:
    static constexpr std::array<std::uint32_t, count> sizes_ = [] {
        std::array<std::uint32_t, count> sizes{};
        unsigned c = 0;
        for (; c < Short::count; ++c) {
            sizes[c] = static_cast<std::uint32_t>(Short::size_of(c));
        }
        for (std::size_t power = table_limit; power < largest; power *= 2) {
            for (const std::size_t part : parts_) {
                const auto size = static_cast<std::uint32_t>(power / 32 * part);
                if (is_power_of_two(size)) {
                    sizes[c++] = size;
                }
                if (size != largest) {
                    sizes[c++] = size + static_cast<std::uint32_t>(more);
                }
            }
        }
        return sizes;
    }();

public:
    static constexpr std::size_t size_of(unsigned c) { return sizes_[c]; }

    /// Whether blocks of class c begin at multiples of every power of two that divides their size; otherwise they begin
    /// at multiples of a cache line.
    static constexpr bool is_natural(unsigned c) {
        return size_of(c) <= table_limit || is_power_of_two(size_of(c));
    }

private:
    /// The class of n is entry (n - 1 - more) / step_.
    static constexpr std::size_t step_ = table_limit / 32;
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
    /// The class of n, table_limit < n <= largest.
    static constexpr unsigned long_class_of(std::size_t n) { return long_classes_[(n - 1 - more) / step_]; }

    /// The class of n, n <= largest.
    static constexpr unsigned class_of(std::size_t n) {
        return n <= table_limit ? Short::small_class_of(n) : long_class_of(n);
    }

    /// The smallest class of at least n bytes whose blocks are aligned to `alignment`. n and alignment, a power of two,
    /// are at most `largest`.
    static constexpr unsigned aligned_class_of(std::size_t n, std::size_t alignment) {
        const std::size_t size = align_up(n == 0 ? 1 : n, alignment);
        if (size <= table_limit || alignment <= platform::cache_line) {
            return class_of(size);
        }
        return natural_class_of(std::bit_ceil(size));
    }

    /// The largest ratio of block size to request over all requests from fine_limit on, in thousandths; without aligned
    /// requests.
    static constexpr std::size_t worst_ratio_permille = [] {
        std::size_t worst = Short::worst_ratio_permille;
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
