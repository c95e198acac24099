// SPDX-License-Identifier: MIT
//
// Attendance: whether the thread of a heap comes by.
//
// Adds:    a count of its slow paths, and since when that count stands still.
// Threads: come_by: the owner. is_due, was_told: who holds the registry's lock.
// Cost:    a load and a store on slow paths.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn {

class Attendance {
public:
    constexpr Attendance() = default;

    void come_by() { times_.store(times() + 1, std::memory_order_relaxed); }

    /// Whether it has not come by for `wait` milliseconds, looked at `now` and before; once for each time that it is so.
    bool is_due(std::uint64_t now, std::uint64_t wait) {
        if (const unsigned count = times(); count != seen_) {
            seen_ = count;
            since_ = now;
            told_ = false;
        }
        if (told_ || now - since_ < wait) {
            return false;
        }
        told_ = true;
        return true;
    }

    /// Whether is_due() has said so of the absence that there is.
    bool was_told() const { return told_ && times() == seen_; }

private:
    unsigned times() const { return times_.load(std::memory_order_relaxed); } // relaxed: a hint; one writer

    std::atomic<unsigned> times_{0};
    unsigned seen_ = 0;
    bool told_ = true; ///< a heap that was never used has nothing to give
    std::uint64_t since_ = 0;
};

} // namespace cairn
