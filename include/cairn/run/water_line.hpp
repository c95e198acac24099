// SPDX-License-Identifier: MIT
//
// Water line: what is taken from the operating system and what of it is touched, and the most that each ever was.
//
// Adds:    how much is touched above that line, which is to be paid for; how much that line has risen; a floor, below which
//          nothing counts; ticks of a clock, after two of which what there was counts no more.
// Needs:   to be told what is taken, and what of it is touched later than it is taken.
// Keeps:   a program whose memory goes up and down below a line that it has reached pays nothing for that; who gives back
//          more than was due has that as credit.
// Threads: the caller holds a lock; set_floor(), is_small() and total() any.
// Cost:    some additions.
// Source:  docs/decisions/water-line.md
#pragma once

#include <cairn/platform/features.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace cairn {

class WaterLine {
public:
    constexpr WaterLine() = default;

    /// Of what is taken, so many bytes more, or less, have nothing behind them.
    void add_untouched(std::size_t bytes) { untouched_ += bytes; }
    void drop_untouched(std::size_t bytes) { untouched_ -= std::min(bytes, untouched_); }
    std::size_t untouched() const { return untouched_; }
    void forget_untouched() { untouched_ = 0; }

    /// With less touched than that nothing is above a line. Any thread.
    void set_floor(std::size_t bytes) { floor_.store(bytes, std::memory_order_relaxed); }

    std::size_t touched(std::size_t taken) const { return taken - std::min(taken, untouched_); }

    /// Bytes above the line.
    std::size_t touched_above(std::size_t taken) const {
        return below_floor(taken) ? 0 : touched_.above(touched(taken));
    }
    std::size_t taken_above(std::size_t taken) const { return below_floor(taken) ? 0 : taken_.above(taken); }

    /// So much there is now, after more was taken or touched.
    void see(std::size_t taken) {
        taken_.see(taken);
        touched_.see(touched(taken));
    }

    /// The lines rise to what there is. By how much that of what is touched did.
    std::size_t raise(std::size_t taken) {
        const std::size_t more = touched_above(taken);
        if (more != 0) {
            total_.store(total() + more, std::memory_order_relaxed);
        }
        taken_.raise(taken);
        touched_.raise(touched(taken));
        note(taken);
        return more;
    }

    /// So many bytes were unmapped.
    void lower(std::size_t bytes) {
        taken_.lower(bytes);
        touched_.lower(bytes);
    }

    /// The clock ticks: the lines fall to the most that was seen since it last did. What is above a line is still to be paid for.
    void tick(std::size_t taken) {
        taken_.tick(taken);
        touched_.tick(touched(taken));
        note(taken);
    }

    /// What there was before counts no more.
    void fall(std::size_t taken) {
        tick(taken);
        tick(taken);
    }

    /// Whether less than the floor was touched when memory was last taken, or the lines fell. A hint for anybody.
    bool is_small() const { return is_small_.load(std::memory_order_relaxed); }

    /// By how much the line of what is touched has ever risen. Only grows.
    std::size_t total() const { return total_.load(std::memory_order_relaxed); }

private:
    class Line {
    public:
        std::size_t above(std::size_t now) const { return now > most_ ? now - most_ : 0; }
        void see(std::size_t now) { seen_ = std::max(seen_, now); }
        void raise(std::size_t now) {
            most_ = std::max(most_, now);
            see(now);
        }
        void lower(std::size_t bytes) {
            most_ -= std::min(bytes, most_);
            seen_ -= std::min(bytes, seen_);
        }
        void tick(std::size_t now) {
            most_ = std::min(most_, std::max(seen_, now));
            seen_ = now;
        }

    private:
        std::size_t most_ = 0;
        std::size_t seen_ = 0; ///< since the last tick
    };

    bool below_floor(std::size_t taken) const {
        return touched(taken) < floor_.load(std::memory_order_relaxed);
    }
    void note(std::size_t taken) {
        if (const bool small = below_floor(taken); small != is_small()) {
            is_small_.store(small, std::memory_order_relaxed);
        }
    }

    std::size_t untouched_ = 0;
    Line taken_;
    Line touched_;
    // What slow paths of all threads read, apart from what changes under the lock.
    alignas(platform::line_pair) std::atomic<std::size_t> floor_{0}; ///< relaxed: a number by itself
    std::atomic<bool> is_small_{false}; ///< relaxed: a hint, written under the lock
    std::atomic<std::size_t> total_{0}; ///< relaxed: a counter, written under the lock, seldom
};

} // namespace cairn
