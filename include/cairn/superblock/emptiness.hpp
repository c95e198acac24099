// SPDX-License-Identifier: MIT
//
// Emptiness: how much free memory a heap may hold, and when the heap looks.
//
// Adds:    the emptiness invariant of Hoard with its constants, and after how many frees a superblock is checked.
// Keeps:   after each look a heap satisfies u >= a - slack or u >= (1 - f) a, or has no superblock without live blocks outside
//          of its bins; after a visit (thread/visit.hpp) none there that is at least f empty. Between two looks u falls
//          by at most one step of each superblock.
// Threads: pure functions.
// Source:  Hoard, section 3.1: u_i >= a_i - K S and u_i >= (1 - f) a_i. f is 1/6 in the flagship, 1/4 there.
#pragma once

#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn {

template <std::size_t Slack, unsigned FractionNumerator, unsigned FractionDenominator, unsigned Steps = 8>
struct Emptiness {
    static constexpr std::size_t slack = Slack; ///< K S, bytes
    static constexpr unsigned numerator = FractionNumerator;
    static constexpr unsigned denominator = FractionDenominator;
    static constexpr unsigned steps = Steps; ///< looks, about, while a superblock goes from full to empty
    static_assert(numerator < denominator && slack <= 128_KiB);

    /// Live bytes u and touched bytes a: must superblocks go down a level?
    static constexpr bool too_empty(std::size_t u, std::size_t a) {
        return a > u + slack && u * denominator < a * (denominator - numerator);
    }

    /// If so, what a has beyond u / (1 - f); else 0.
    static constexpr std::size_t overdraft(std::size_t u, std::size_t a) {
        return too_empty(u, a) ? a - u * denominator / (denominator - numerator) : 0;
    }

    /// What the superblocks that a heap allocates from may have free in all when it was visited, or its owner looked: with
    /// less, threads came to share cache lines (docs/decisions/bins-limit.md). Of many heaps each has its share
    /// (HeapsInUse). The owner looks again when the heap has grown emptier by the step, and by a part of what it has, which comes and
    /// goes where blocks are long; and so many slow paths have gone by that the look costs little beside them
    /// (docs/decisions/bins-limit.md).
    static constexpr std::size_t bins_slack = 1152_KiB;
    static constexpr std::size_t bins_step = 512_KiB;
    static constexpr unsigned bins_part = 8; ///< an eighth
    static constexpr unsigned bins_patience = 128;

    /// While a process with so many heaps has less than that, nobody economises for it. 2 MiB the bound leaves each whatever is live
    /// (allocators/bound.hpp compares); but threads that pass memory on to each other would have all of it at once, so beyond 8 MiB it
    /// is what bins may have.
    static constexpr std::size_t small_heap = 2_MiB;
    static constexpr std::size_t small_process(std::size_t heaps) {
        return std::max(heaps * bins_slack, std::min(heaps * small_heap, 4 * small_heap));
    }

    /// How many blocks of a superblock others free until somebody is told, and how many the owner between two looks at it. As many less
    /// one each are known to nobody: two in `steps` of all blocks at most. Two at least: a malloc and its free in turn then look at none,
    /// however few blocks the superblock has.
    static constexpr unsigned remote_step_of(unsigned capacity) { return std::max(capacity / steps, 2u); }
    static constexpr unsigned step_of(unsigned capacity) {
        return std::max(2 * capacity / steps + 2 - remote_step_of(capacity), 2u);
    }

    /// Fullness groups below this one are at least f empty.
    template <unsigned Groups>
    static constexpr unsigned movable_groups = [] {
        static_assert(Groups % denominator == 0, "else some that are f empty would be in no such group");
        return Groups * (denominator - numerator) / denominator;
    }();

    /// The next check is one step of frees away. A superblock without live blocks never reaches it, so that a lone malloc and free stay on the fast path.
    static void rearm(OwnerLine *s) {
        const auto live = static_cast<std::int32_t>(s->live());
        const auto step = static_cast<std::int32_t>(step_of(shared_of(s)->capacity));
        s->check_at = live == 0 ? -1 : std::max(live - step, 0);
        s->frees_until_check = live - s->check_at;
    }
};

} // namespace cairn
