// SPDX-License-Identifier: MIT
//
// Attendance: whether the thread of a heap still takes slow paths.
//
// Adds:    a count of its slow paths; since when the count stands still; for the owner, whether this absence was
//          reported.
// Keeps:   a thread that finds is_reported() true after a heavy fence, and then sleeps, is woken: the owner's next
//          take_missed() is true.
// Threads: come_by, is_missed, take_missed: the owner. begin, is_due, is_reported: a thread that holds the registry's
//          lock.
// Cost:    a load and a store in slow paths, and a load at checks.
#pragma once

#include <cairn/platform/fence.hpp>

#include <atomic>
#include <cstdint>

namespace cairn {

class Attendance {
public:
    constexpr Attendance() = default;

    /// The owner takes a slow path.
    void come_by() { times_.store(times() + 1, std::memory_order_relaxed); }

    /// After come_by(): whether the owner's absence was reported, so that no thread may be looking at the heap any
    /// more.
    bool is_missed() const {
        // Dekker pair with the heavy fence of the thread that then reads is_reported(); where there is no heavy
        // fence, with that thread's wait.
        platform::light_fence();
        return reported();
    }

    /// is_missed(), once for each report.
    bool take_missed() {
        const bool missed = is_missed();
        if (missed) {
            set_reported(false);
        }
        return missed;
    }

    /// The heap gets another thread.
    void begin() { set_reported(true); }

    /// Whether the owner has taken no slow path for `wait` milliseconds, as of `now` and of earlier calls. True once
    /// for each absence, or each time with `again`.
    bool is_due(std::uint64_t now, std::uint64_t wait, bool again = false) {
        if (const unsigned count = times(); count != seen_) {
            seen_ = count;
            since_ = now;
            set_reported(false);
        }
        if ((reported() && !again) || now < since_ + wait) { // an earlier caller may have had a later `now`
            return false;
        }
        set_reported(true);
        return true;
    }

    /// The absence that is_due() reported could not be used: the next is_due() is to report it again. Any thread;
    /// relaxed: the thread that sleeps after this is to be woken, whatever it reads.
    void was_refused() { set_reported(false); }

    /// Whether is_due() has reported the present absence.
    bool is_reported() const { return reported() && times() == seen_; }

private:
    unsigned times() const {
        return times_.load(std::memory_order_relaxed);
    } // relaxed: a hint; one thread writes it
    // relaxed, both: under the registry's lock; the owner's store wakes a thread that is asleep then.
    bool reported() const { return reported_.load(std::memory_order_relaxed); }
    void set_reported(bool reported) { reported_.store(reported, std::memory_order_relaxed); }

    std::atomic<unsigned> times_{0};
    unsigned seen_ = 0;
    std::atomic<bool> reported_{true}; ///< a heap that was never used has nothing to give
    std::uint64_t since_ = 0;
};

} // namespace cairn
