// SPDX-License-Identifier: MIT
//
// Bins watch: when an owner measures what the superblocks of its bins have free.
//
// Adds:    is_due: the heap's overdraft has grown by a step since the last measurement, and so many slow paths have
//          passed that a measurement costs little beside them. Where it has grown by n steps, an n-th of them is
//          enough.
// Threads: the heap's.
// Cost:    two comparisons in slow paths.
// Source:  docs/decisions/bins-limit.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cairn {

class BinsWatch {
public:
    constexpr BinsWatch() = default;

    /// `count` slow paths have passed, after which the heap has `overdraft` bytes of overdraft.
    void slow_path(std::size_t overdraft, unsigned count = 1) {
        seen_at_ = std::min(overdraft, seen_at_);
        slow_paths_ += count;
    }
    /// The least overdraft since the last measurement.
    std::size_t seen_at() const { return seen_at_; }
    /// Whether a measurement is due. `step`: in bytes.
    bool is_due(std::size_t overdraft, unsigned patience, std::size_t step) const {
        return overdraft > seen_at_ + step && (overdraft - seen_at_) / step * slow_paths_ >= patience;
    }
    /// The bins were measured; now there is `overdraft`.
    void measured(std::size_t overdraft) { *this = BinsWatch(overdraft); }

private:
    explicit constexpr BinsWatch(std::size_t overdraft) : seen_at_(overdraft) {}

    std::size_t seen_at_ = 0;      ///< bytes: the least overdraft since the last measurement
    std::uint32_t slow_paths_ = 0; ///< since the last measurement
};

} // namespace cairn
