// SPDX-License-Identifier: MIT
//
// Attendance: whether the thread of a heap comes by.
//
// Adds:    a count of its slow paths, since when that count stands still, and for the owner whether others have taken note of that.
// Keeps:   who finds is_reported() behind a heavy fence, and sleeps, is told by take_missed() of the next time that the owner comes by.
// Threads: come_by, is_missed, take_missed: the owner. begin, is_due, is_reported: who holds the registry's lock.
// Cost:    a load and a store on slow paths, and a load at borders.
#pragma once

#include <cairn/platform/fence.hpp>

#include <atomic>
#include <cstdint>

namespace cairn {

class Attendance {
public:
    constexpr Attendance() = default;

    void come_by() { times_.store(times() + 1, std::memory_order_relaxed); }

    /// After come_by(): whether its absence was told, and nobody may be looking any more.
    bool is_missed() const {
        // Dekker pair with the heavy fence of who then looks at is_reported(), or where there is none with its wait.
        platform::light_fence();
        return reported();
    }

    /// The same, once for each time.
    bool take_missed() {
        const bool missed = is_missed();
        if (missed) {
            set_reported(false);
        }
        return missed;
    }

    /// Another thread has the heap from now on.
    void begin() { set_reported(true); }

    /// Whether it has not come by for `wait` milliseconds, looked at `now` and before; once for each time that it is so, or `again`.
    bool is_due(std::uint64_t now, std::uint64_t wait, bool again = false) {
        if (const unsigned count = times(); count != seen_) {
            seen_ = count;
            since_ = now;
            set_reported(false);
        }
        if ((reported() && !again) || now < since_ + wait) { // who looked since may have had a later `now`
            return false;
        }
        set_reported(true);
        return true;
    }

    /// What is_due() said could not be used: it is so again at the next look. Any thread; relaxed: whoever then sleeps is to be woken.
    void was_refused() { set_reported(false); }

    /// Whether is_due() has said so of the absence that there is.
    bool is_reported() const { return reported() && times() == seen_; }

private:
    unsigned times() const { return times_.load(std::memory_order_relaxed); } // relaxed: a hint; one writer
    // relaxed, both: under the lock; and the owner's, which wakes whoever is asleep then.
    bool reported() const { return reported_.load(std::memory_order_relaxed); }
    void set_reported(bool reported) { reported_.store(reported, std::memory_order_relaxed); }

    std::atomic<unsigned> times_{0};
    unsigned seen_ = 0;
    std::atomic<bool> reported_{true}; ///< a heap that was never used has nothing to give
    std::uint64_t since_ = 0;
};

} // namespace cairn
