// SPDX-License-Identifier: MIT
//
// Emptiness: how much free memory a heap may have, and after how many frees a superblock is checked.
//
// Adds:    Hoard's emptiness invariant with its constants, limits for the superblocks in bins and for small
//          processes, and the check threshold.
// Keeps:   let u be the accounted and a the touched bytes of a heap (docs/bound.md). After each check u >= a - slack,
//          or u >= (1 - f) a, or the heap has no superblock without live blocks outside of its bins. After a visit
//          (thread/visit.hpp) the heap also has none there that is at least f empty. Between two checks of a
//          superblock its live blocks fall by at most one step.
// Threads: pure functions.
// Source:  Hoard, section 3.1: u_i >= a_i - K S and u_i >= (1 - f) a_i. f is 1/6 in the flagship, 1/4 there.
#pragma once

#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn {

template <std::size_t Slack, unsigned FractionNumerator, unsigned FractionDenominator, unsigned Steps = 8>
struct Emptiness {
    static constexpr std::size_t slack = Slack; ///< bytes that any heap may have free; Hoard writes K S
    static constexpr unsigned numerator = FractionNumerator;
    static constexpr unsigned denominator = FractionDenominator;
    static constexpr unsigned steps = Steps; ///< checks, about, while a superblock goes from full to empty
    static_assert(numerator < denominator && slack <= 128_KiB);

    /// Whether a heap with u accounted and a touched bytes breaks the invariant: superblocks must go to the global
    /// heap.
    static constexpr bool too_empty(std::size_t u, std::size_t a) {
        return a > u + slack && u * denominator < a * (denominator - numerator);
    }

    /// If the invariant is broken, by how much a exceeds u / (1 - f); else 0.
    static constexpr std::size_t overdraft(std::size_t u, std::size_t a) {
        return too_empty(u, a) ? a - u * denominator / (denominator - numerator) : 0;
    }

    /// How many bytes the superblocks in a heap's bins may have free in all when the heap was visited or its owner
    /// has thinned the bins. With a smaller limit threads came to share cache lines (docs/decisions/bins-limit.md).
    /// With many heaps each has its share of the limit (HeapsInUse). The owner measures the bins again when the
    /// heap's overdraft has grown by bins_step, or by an eighth of the heap where that is more, since with long
    /// blocks so much comes and goes; and when bins_patience slow paths have passed, so that the measurement costs
    /// little beside them.
    static constexpr std::size_t bins_slack = 1152_KiB;
    static constexpr std::size_t bins_step = 512_KiB;
    static constexpr unsigned bins_part = 8; ///< an eighth
    static constexpr unsigned bins_patience = 128;

    /// A process with `heaps` heaps that has touched fewer bytes than this is small: no visits, no purging, and no
    /// share of a limit. 2 MiB for each heap are within docs/bound.md whatever is live (allocators/bound.hpp
    /// compares). Threads that pass memory on to each other would have all of it free at one time, so the sum stops
    /// at 8 MiB; then it grows by bins_slack for each heap.
    static constexpr std::size_t small_heap = 2_MiB;
    static constexpr std::size_t small_process(std::size_t heaps) {
        return std::max(heaps * bins_slack, std::min(heaps * small_heap, 4 * small_heap));
    }

    /// remote_step_of: after how many remote frees of a superblock its owner gets a notice. step_of: after how many
    /// frees of its own the owner checks the superblock. One less of each may be unaccounted, together at most two in
    /// `steps` of all blocks. Each is 2 at least: otherwise a malloc and a free in turn would check the superblock
    /// each time, where it has few blocks.
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

    /// Sets the check threshold of a superblock one step below its live blocks. A superblock without live blocks
    /// never reaches its threshold, so that a malloc and a free in turn stay on the fast path.
    static void rearm(OwnerLine *s) {
        const auto live = static_cast<std::int32_t>(s->live());
        const auto step = static_cast<std::int32_t>(step_of(shared_of(s)->capacity));
        s->check_at = live == 0 ? -1 : std::max(live - step, 0);
        s->frees_until_check = live - s->check_at;
    }
};

} // namespace cairn
