// SPDX-License-Identifier: MIT
//
// BoundedSpinLock: a spin lock. A waiting thread reads the lock word a bounded number of times, then yields the
// processor and starts again; it never sleeps.
//
// Adds:    the interface of Lock: lock, try_lock, unlock, ranks in debug builds, the calls around a fork; and
//          BoundedSpin, the waiting loop alone, for threads that wait for something other than a lock.
// Needs:   nothing; constant-initialised, never destroyed.
// Keeps:   mutual exclusion. A waiting thread only reads, so the cache line stays in its cache until the lock word
//          changes; it tries the exchange only after it has read that the lock is free (test and test-and-set).
// Threads: any. Not recursive, not for signal handlers. While the holder is preempted the waiting threads use their
//          processors: for critical sections of some tens of instructions.
// Cost:    an exchange to take the lock, a store to release it.
// Source:  LKmalloc, section 6, D: S_LOCK, 4,000 spins.
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/futex.hpp>
#include <cairn/sync/rank.hpp>

#include <atomic>

namespace cairn::sync {

inline constexpr unsigned default_spins = 4000;

/// One wait. The waiting thread calls once() each time it has read that it still has to wait.
template <unsigned Spins = default_spins>
class BoundedSpin {
public:
    void once() {
        if (++looks_ < Spins) {
            platform::cpu_relax();
        } else {
            platform::yield();
            looks_ = 0;
        }
    }

private:
    unsigned looks_ = 0;
};

template <unsigned Spins = default_spins>
class CAIRN_BY_CHECKS BoundedSpinLock {
public:
    explicit constexpr BoundedSpinLock(Rank rank) : rank_(rank) {}
    BoundedSpinLock(const BoundedSpinLock &) = delete;
    BoundedSpinLock &operator=(const BoundedSpinLock &) = delete;

    void lock() {
        rank_.check();
        hold_across_fork();
        rank_.note_taken();
    }

    bool try_lock() {
        const bool taken = take();
        if (taken) {
            rank_.note_taken();
        }
        return taken;
    }

    void unlock() {
        rank_.note_let_go();
        let_go_after_fork();
    }

    /// Take and release without a check of ranks: for a thread that takes all locks of a heap before a fork, in any
    /// number and in any order of ranks, and releases them after it.
    void hold_across_fork() {
        if (CAIRN_UNLIKELY(!take())) {
            lock_contended();
        }
    }
    void let_go_after_fork() {
        // release: pairs with the acquire in take(): the next holder sees what this holder wrote.
        held_.store(false, std::memory_order_release);
    }

    /// In the child of a fork, where the thread that held the lock does not exist. relaxed: the child has one thread.
    void reset_after_fork() { held_.store(false, std::memory_order_relaxed); }

private:
    bool take() {
        // acquire: pairs with the release in let_go_after_fork() of the previous holder.
        return !held_.exchange(true, std::memory_order_acquire);
    }

    CAIRN_COLD void lock_contended() {
        BoundedSpin<Spins> wait;
        do {
            // relaxed: a hint; a stale value costs one more round or one failed exchange, and take() decides.
            while (held_.load(std::memory_order_relaxed)) {
                wait.once();
            }
        } while (!take());
    }

    std::atomic<bool> held_{false};
    Ranked rank_;
};

} // namespace cairn::sync
