// SPDX-License-Identifier: MIT
//
// NBmalloc's fullness groups: where a superblock belongs.
//
// Adds:    the group of a superblock, and whether and where it has to move.
// Keeps:   with G groups, group g is for superblocks that are g/G to (g+1)/G full. A superblock moves only when it is
//          further outside of its group than a fraction of the group's width. One that sinks into group 0, almost
//          empty, goes to the global heap. One outside of all sets (a full one) comes back when a block of it is free.
// Threads: pure functions.
// Cost:    some multiplications.
// Source:  NBmalloc, section 3 (almost empty ones go to the global heap), section 6 (four groups, threshold of 1/4).
#pragma once

#include <cstdint>

namespace cairn {

template <class Parameters, class Places>
struct NbGroups {
    using Where = typename Places::Where;

    static constexpr unsigned group_of(std::uint32_t used, std::uint32_t capacity) {
        const std::uint32_t group = used * groups_ / capacity;
        return group < groups_ ? group : groups_ - 1;
    }

    /// Whether a superblock at `at` has to move, given how full it is.
    static constexpr bool misplaced(Where at, std::uint32_t used, std::uint32_t capacity) {
        if (at.group == Places::no_group) {
            return used < capacity;
        }
        // In units of 1/(G D) of the superblock: group g is from g D to (g + 1) D, the slack is 1.
        const std::uint32_t full = used * groups_ * denominator_;
        const std::uint32_t up = ((at.group + 1) * denominator_ + slack_) * capacity;
        const std::uint32_t down = at.group == 0 ? 0 : (at.group * denominator_ - slack_) * capacity;
        return (full > up && at.group + 1 < groups_) || full < down;
    }

    /// Where to.
    static constexpr Where target(Where at, std::uint32_t used, std::uint32_t capacity) {
        const unsigned group = group_of(used, capacity);
        return {group == 0 ? 0 : at.heap, group};
    }

private:
    static constexpr std::uint32_t groups_ = Parameters::fullness_groups;
    static constexpr std::uint32_t denominator_ = Parameters::change_threshold_denominator;
    static constexpr std::uint32_t slack_ = Parameters::change_threshold_numerator;
    static_assert(slack_ <= denominator_);
    static_assert(Parameters::superblock * groups_ * denominator_ * 2 < UINT32_MAX);
};

} // namespace cairn
