// SPDX-License-Identifier: MIT
//
// Bins watch: when an owner looks at what its bins have free.
//
// Adds:    is_due: the heap has become emptier by a step since the last look, and enough slow paths have gone by that a look costs
//          little beside them; of several steps, so many times fewer.
// Threads: the heap's.
// Cost:    two compares on slow paths.
// Source:  docs/decisions/bins-limit.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cairn {

class BinsWatch {
public:
    constexpr BinsWatch() = default;

    /// So many slow paths, after which the heap has so many bytes of overdraft.
    void slow_path(std::size_t overdraft, unsigned count = 1) {
        seen_at_ = std::min(overdraft, seen_at_);
        slow_paths_ += count;
    }
    std::size_t seen_at() const { return seen_at_; }
    /// `step` in bytes.
    bool is_due(std::size_t overdraft, unsigned patience, std::size_t step) const {
        return overdraft > seen_at_ + step && (overdraft - seen_at_) / step * slow_paths_ >= patience;
    }
    void looked(std::size_t overdraft) { *this = BinsWatch(overdraft); }

private:
    explicit constexpr BinsWatch(std::size_t overdraft) : seen_at_(overdraft) {}

    std::size_t seen_at_ = 0;      ///< bytes: the least overdraft since the last look
    std::uint32_t slow_paths_ = 0; ///< since then
};

} // namespace cairn
