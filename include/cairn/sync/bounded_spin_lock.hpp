// SPDX-License-Identifier: MIT
//
// BoundedSpinLock: a lock that is waited for by looking, and after so many looks by yielding; nobody ever sleeps.
//
// Adds:    the interface of Lock: lock, try_lock, unlock, ranks in debug builds, the calls around a fork; and the
//          wait on its own, for who waits for something else than a lock.
// Needs:   nothing; constant-initialised, never destroyed.
// Keeps:   mutual exclusion. Who waits only reads, so the line stays in its cache until the lock changes; the bus sees
//          an exchange when the lock has been seen free.
// Threads: any. Not recursive, not for signal handlers. A holder that is preempted keeps the others running: for
//          sections of some tens of instructions.
// Cost:    an exchange to take, a store to let go.
// Source:  LKmalloc, section 6, D: S_LOCK, 4,000 looks.
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/futex.hpp>
#include <cairn/sync/rank.hpp>

#include <atomic>

namespace cairn::sync {

inline constexpr unsigned default_spins = 4000;

/// One wait: `once` after each look that did not help.
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

    /// As in Lock: for who takes all locks of a heap before a fork, in any number and order of ranks.
    void hold_across_fork() {
        if (CAIRN_UNLIKELY(!take())) {
            lock_contended();
        }
    }
    void let_go_after_fork() {
        // release: pairs with the acquire of take().
        held_.store(false, std::memory_order_release);
    }

    /// For the child of a fork, where the holder does not exist any more. relaxed: the child is alone.
    void reset_after_fork() { held_.store(false, std::memory_order_relaxed); }

private:
    bool take() {
        // acquire: pairs with the release in let_go_after_fork(), of whoever held it before.
        return !held_.exchange(true, std::memory_order_acquire);
    }

    CAIRN_COLD void lock_contended() {
        BoundedSpin<Spins> wait;
        do {
            // relaxed: a hint, take() decides.
            while (held_.load(std::memory_order_relaxed)) {
                wait.once();
            }
        } while (!take());
    }

    std::atomic<bool> held_{false};
    Ranked rank_;
};

} // namespace cairn::sync
