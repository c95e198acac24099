// SPDX-License-Identifier: MIT
//
// Geometric size classes: a table computed and verified by the compiler.
//
// Adds:    the sizes, the class of a size, and the worst internal fragmentation.
// Needs:   nothing.
// Keeps:   class_of(n) is the smallest class of at least n bytes; sizes rise; each class above 8 bytes is a multiple of
//          16 (so a block has the alignment that C requires of malloc); from `fine_limit` on a block is at most 1 +
//          1/steps times as long as requested, below it at most 15 bytes longer.
// Threads: constants.
// Cost:    class_of is one load up to `table_limit`, some ten instructions above it.
// Source:  Hoard, section 3: size classes a power of b apart bound internal fragmentation by b; section 5: b = 1.2.
#pragma once

#include <cairn/core/bits.hpp>

#include <algorithm>
#include <array>

namespace cairn {

/// 8, 16, then steps of 16 to `fine_limit`, then `steps` to a doubling, up to `largest`.
template <std::size_t Largest, std::size_t TableLimit, std::size_t Steps = 8>
struct GeometricSizeClasses {
    static constexpr std::size_t quantum = 16;
    static constexpr std::size_t fine_limit = quantum * Steps;
    static constexpr std::size_t steps = Steps;
    static constexpr std::size_t largest = Largest;
    static constexpr std::size_t table_limit = TableLimit;
    static_assert(is_power_of_two(Steps) && is_power_of_two(Largest) && is_power_of_two(TableLimit),
                  "the largest size, the end of the table and the steps of a doubling are powers of two");
    static_assert(
        fine_limit < TableLimit && TableLimit <= Largest,
        "the table ends above 16 bytes for each step of a doubling, and not above the largest size");

private:
    static constexpr unsigned log_steps = log2_exact(Steps);
    static constexpr unsigned log_fine = log2_exact(fine_limit);
    static constexpr unsigned fine_classes = static_cast<unsigned>(Steps) + 1; // 8, and the multiples of 16

    /// The class of n, n > fine_limit, computed without the table.
    static constexpr unsigned coarse_class_of(std::size_t n) {
        const unsigned doubling = log2_floor(n - 1); // 2^doubling < n <= 2^(doubling + 1)
        const auto step =
            static_cast<unsigned>((n - 1) >> (doubling - log_steps)) & (static_cast<unsigned>(Steps) - 1);
        return fine_classes + (doubling - log_fine) * static_cast<unsigned>(Steps) + step;
    }

public:
    static constexpr unsigned count = coarse_class_of(Largest) + 1;
    static_assert(count <= 255);

    static constexpr std::size_t size_of(unsigned c) {
        if (c < fine_classes) {
            return c == 0 ? 8 : c * quantum;
        }
        const unsigned doubling = (c - fine_classes) / static_cast<unsigned>(Steps);
        const unsigned step = (c - fine_classes) % static_cast<unsigned>(Steps);
        return (fine_limit << doubling) + (step + 1) * ((fine_limit << doubling) >> log_steps);
    }

private:
    static constexpr std::array<std::uint8_t, TableLimit / 8 + 1> table = [] {
        std::array<std::uint8_t, TableLimit / 8 + 1> t{};
        unsigned c = 0;
        for (std::size_t i = 0; i < t.size(); ++i) {
            while (size_of(c) < i * 8) {
                ++c;
            }
            t[i] = static_cast<std::uint8_t>(c);
        }
        return t;
    }();

public:
    /// The class of n, n <= table_limit, from the table; the smallest class for n = 0.
    static constexpr unsigned small_class_of(std::size_t n) { return table[(n + 7) / 8]; }

    /// The class of n, n <= largest.
    static constexpr unsigned class_of(std::size_t n) {
        return n <= TableLimit ? small_class_of(n) : coarse_class_of(n);
    }

    /// The size to request instead of n for a block whose address is a multiple of `alignment`, in a superblock whose
    /// first block is so aligned: n rounded up to a multiple of `alignment` has a class of its own, or the next larger
    /// class is a multiple too. n and alignment, a power of two, are at most `largest`.
    static constexpr std::size_t aligned_size(std::size_t n, std::size_t alignment) {
        return align_up(n == 0 ? 1 : n, alignment);
    }

    /// The smallest class of at least n bytes whose blocks are aligned to `alignment`. n and alignment, a power of two,
    /// are at most `largest`.
    static constexpr unsigned aligned_class_of(std::size_t n, std::size_t alignment) {
        return class_of(aligned_size(n, alignment));
    }

    /// The largest ratio of block size to request over all requests from fine_limit on, in thousandths.
    static constexpr std::size_t worst_ratio_permille = [] {
        std::size_t worst = 0;
        for (unsigned c = class_of(fine_limit); c < count; ++c) {
            const std::size_t least = c == class_of(fine_limit) ? fine_limit : size_of(c - 1) + 1;
            const std::size_t ratio = ceil_div(size_of(c) * 1000, least);
            worst = ratio > worst ? ratio : worst;
        }
        return worst;
    }();

private:
    static constexpr bool proved = [] {
        for (unsigned c = 0; c < count; ++c) {
            const std::size_t size = size_of(c);
            const std::size_t least = c == 0 ? 0 : size_of(c - 1) + 1;
            if (least > size || class_of(size) != c || class_of(least) != c) {
                return false;
            }
            if (c > 0 && size % quantum != 0) {
                return false;
            }
            if (size <= fine_limit && size - (least == 0 ? 1 : least) > 15) {
                return false;
            }
            for (std::size_t alignment = 8; alignment <= Largest; alignment *= 2) {
                if (size % alignment != 0 && align_down(size, alignment) >= std::max<std::size_t>(least, 1)) {
                    return false;
                }
            }
        }
        return size_of(count - 1) == Largest;
    }();
    static_assert(
        proved,
        "class_of must be the smallest class that holds the size, sizes aligned and bounded; that of a "
        "multiple of an alignment must be a multiple");
    static_assert(worst_ratio_permille <= 1200, "Hoard's b = 1.2");
};

} // namespace cairn
