// SPDX-License-Identifier: MIT
//
// Bins: which of the lists holds free blocks of a size.
//
// Adds:    the number of a size's bin, and the smallest size of a bin.
// Keeps:   half of the bins hold one size each, `Spacing` apart. Then come groups, each half as many bins as the one
//          before and each eight times as coarse, and one bin for all that is longer. Proved below.
// Threads: pure functions.
// Cost:    a few instructions; six rounds of a loop for the longest blocks.
// Source:  LKmalloc, section 6, A: 128 bins, 64 of them for blocks up to 512 bytes, 8 bytes apart, the others coarser
//          (how coarse is Lea's, whom it follows: 32 bins 64 apart, 16 of 512, and so on).
#pragma once

#include <cairn/core/bits.hpp>

namespace cairn::lkmalloc {

template <std::size_t Spacing, unsigned Count>
struct Bins {
    static_assert(is_power_of_two(Spacing) && is_power_of_two(Count) && Count >= 4);

    static constexpr unsigned count = Count;
    static constexpr unsigned exact = Count / 2;
    static constexpr std::size_t largest_exact = exact * Spacing;

    /// size is a multiple of Spacing, and not 0.
    static constexpr unsigned of(std::size_t size) {
        const std::size_t step = size / Spacing - 1;
        if (step < exact) {
            return static_cast<unsigned>(step);
        }
        Group group;
        while (group.bins != 0 && step >= group.end()) {
            group.advance();
        }
        return group.bins == 0
                   ? count - 1
                   : group.first_bin + static_cast<unsigned>((step - group.first_step) / group.width);
    }

    static constexpr std::size_t smallest_of(unsigned bin) {
        if (bin < exact) {
            return (bin + 1) * Spacing;
        }
        Group group;
        while (group.bins != 0 && bin >= group.first_bin + group.bins) {
            group.advance();
        }
        return (group.first_step + (bin - group.first_bin) * group.width + 1) * Spacing;
    }

private:
    /// Bins of one width, counted in steps of Spacing.
    struct Group {
        unsigned first_bin = exact;
        unsigned bins = exact / 2;
        std::size_t first_step = exact;
        std::size_t width = 8;

        constexpr std::size_t end() const { return first_step + bins * width; }
        constexpr void advance() {
            first_step = end();
            first_bin += bins;
            bins /= 2;
            width *= 8;
        }
    };

    static constexpr bool proved = [] {
        for (unsigned bin = 0; bin < count; ++bin) {
            const std::size_t smallest = smallest_of(bin);
            if (of(smallest) != bin || (bin > 0 && of(smallest - Spacing) != bin - 1)) {
                return false;
            }
        }
        return of(std::size_t{1} << 40) == count - 1;
    }();
    static_assert(proved, "bins are in the order of sizes, without a gap");
};

static_assert(Bins<8, 128>::largest_exact == 512, "LKmalloc, section 6, A");

} // namespace cairn::lkmalloc
