// SPDX-License-Identifier: MIT
//
// Water line: the recent maximum of the memory that is taken from the operating system, and of the touched part of it.
//
// Adds:    how far the touched memory exceeds its line, which is growth that has to be offset by purging; the sum of
//          all growth; a floor, below which nothing is growth; ticks of the purge clock, after two of which an older
//          maximum no longer counts.
// Needs:   calls with the memory taken, and with the part of it that is not touched yet.
// Keeps:   memory that rises and falls below the line is not growth. When more is given back than was due, the line
//          stays: so much may be taken again without growth.
// Threads: the caller holds a lock; set_floor(), is_small(), total() and level() any.
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

    /// So many bytes more, or fewer, of the memory taken are not touched.
    void add_untouched(std::size_t bytes) { untouched_ += bytes; }
    void drop_untouched(std::size_t bytes) { untouched_ -= std::min(bytes, untouched_); }
    std::size_t untouched() const { return untouched_; }
    void forget_untouched() { untouched_ = 0; }

    /// While less than `bytes` are touched, nothing is above a line. Any thread.
    void set_floor(std::size_t bytes) { floor_.store(bytes, std::memory_order_relaxed); }

    std::size_t touched(std::size_t taken) const { return taken - std::min(taken, untouched_); }

    /// Touched bytes, and taken bytes, above their lines.
    std::size_t touched_above(std::size_t taken) const {
        return below_floor(taken) ? 0 : touched_.above(touched(taken));
    }
    std::size_t taken_above(std::size_t taken) const { return below_floor(taken) ? 0 : taken_.above(taken); }

    /// Notes the present values, after more was taken or touched, for the maximum until the next tick.
    void see(std::size_t taken) {
        taken_.see(taken);
        touched_.see(touched(taken));
    }

    /// Raises the lines to the present values. Returns by how much the line of touched memory rose.
    std::size_t raise(std::size_t taken) {
        const std::size_t more = touched_above(taken);
        if (more != 0) {
            total_.store(total() + more, std::memory_order_relaxed);
            level_.store(touched(taken), std::memory_order_relaxed);
        }
        taken_.raise(taken);
        touched_.raise(touched(taken));
        note(taken);
        return more;
    }

    /// Lowers the lines: so many bytes were unmapped.
    void lower(std::size_t bytes) {
        taken_.lower(bytes);
        touched_.lower(bytes);
    }

    /// A tick of the purge clock: the lines fall to the maximum since the last tick. They do not rise: growth above a
    /// line still has to be offset.
    void tick(std::size_t taken) {
        taken_.tick(taken);
        touched_.tick(touched(taken));
        note(taken);
    }

    /// The lines fall to the present values.
    void fall(std::size_t taken) {
        tick(taken);
        tick(taken);
    }

    /// Whether less than the floor was touched when memory was last taken, or when the lines last fell. Any thread: a
    /// hint.
    bool is_small() const { return is_small_.load(std::memory_order_relaxed); }

    /// The sum of all rises of the line of touched memory. Never decreases.
    std::size_t total() const { return total_.load(std::memory_order_relaxed); }
    /// What was touched when the line of touched memory last rose.
    std::size_t level() const { return level_.load(std::memory_order_relaxed); }

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
        std::size_t seen_ = 0; ///< the maximum since the last tick
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
    // The slow paths of all threads read these: in cache lines apart from the members that change often.
    alignas(platform::line_pair) std::atomic<std::size_t> floor_{0}; ///< relaxed: a setting
    std::atomic<bool> is_small_{false}; ///< relaxed: a hint, written with the lock held
    std::atomic<std::size_t> total_{0}; ///< relaxed: a counter, written with the lock held, seldom
    std::atomic<std::size_t> level_{0}; ///< relaxed: a hint, written with total_
};

} // namespace cairn
