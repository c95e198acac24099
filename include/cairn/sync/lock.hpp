// SPDX-License-Identifier: MIT
//
// Lock: a four-byte lock for critical sections of some tens of instructions, or of a few system calls. A waiting thread
// spins a bounded number of times, then yields the processor a bounded number of times, then sleeps.
//
// Adds:    lock, try_lock, unlock; Guard, which holds a lock for a scope; Glance, for threads that only read
//          statistics; a rank that debug builds check: a thread takes locks in rising order of rank only.
// Needs:   nothing; constant-initialised, never destroyed.
// Keeps:   mutual exclusion; acquire on lock pairs with release on unlock.
// Threads: any. Not recursive, not for signal handlers.
// Cost:    one compare-exchange to take, one exchange to release; a system call only under contention.
// Source:  the bounded spin, and yielding after it, are LKmalloc's (section 6, D; the paper's form:
//          bounded_spin_lock.hpp); the sleep on the lock word is Drepper's ("Futexes are tricky"). Why a thread yields
//          before it sleeps: docs/decisions/lock-yielding.md.
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/futex.hpp>
#include <cairn/sync/rank.hpp>

#include <atomic>
#include <cstdint>

namespace cairn::sync {

class CAIRN_BY_CHECKS Lock {
public:
    explicit constexpr Lock(Rank rank) : rank_(rank) {}
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    void lock() {
        rank_.check();
        if (CAIRN_UNLIKELY(!take())) {
            lock_contended();
        }
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
        release();
    }

    /// Whether any thread holds the lock. acquire: pairs with release(): when the answer is no, the caller sees what
    /// the last holder wrote.
    bool held() const { return word_.load(std::memory_order_acquire) != free_; }

    /// Take and release without a check of ranks: for a thread that takes all locks of a heap before a fork, in any
    /// number and in any order of ranks, and releases them after it in the parent and in the child.
    void hold_across_fork() {
        if (!take()) {
            lock_contended();
        }
    }
    void let_go_after_fork() { release(); }

    /// In the child of a fork, where the thread that held the lock does not exist. Writes only to a lock that is held:
    /// each write would give the child a private copy of the page. relaxed: the child has one thread.
    void reset_after_fork() {
        if (word_.load(std::memory_order_relaxed) != free_) {
            word_.store(free_, std::memory_order_relaxed);
        }
    }

private:
    bool take() {
        // acquire: pairs with release() of the previous holder. relaxed on failure: the lock was not taken.
        std::uint32_t expected = free_;
        return word_.compare_exchange_strong(expected, held_, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    void release() {
        // release: pairs with the acquire of the next holder, in take() or lock_contended().
        if (CAIRN_UNLIKELY(word_.exchange(free_, std::memory_order_release) == held_with_sleepers_)) {
            platform::futex_wake(word_);
        }
    }

    CAIRN_COLD void lock_contended() {
        for (int i = 0; i < spins_ + yields_; ++i) {
            if (i < spins_) {
                platform::cpu_relax();
            } else {
                platform::yield();
            }
            // relaxed: a hint; a stale value costs one more round or one failed exchange, and take() decides.
            if (word_.load(std::memory_order_relaxed) == free_ && take()) {
                return;
            }
        }
        // acquire: pairs with release() of the previous holder.
        while (word_.exchange(held_with_sleepers_, std::memory_order_acquire) != free_) {
            platform::futex_wait(word_, held_with_sleepers_);
        }
    }

    static constexpr std::uint32_t free_ = 0;
    static constexpr std::uint32_t held_ = 1;
    static constexpr std::uint32_t held_with_sleepers_ = 2;
    static constexpr int spins_ = 100;
    static constexpr int yields_ =
        200; ///< some 80 us when no other thread is ready to run: a few system calls

    std::atomic<std::uint32_t> word_{free_};
    Ranked rank_;
};

/// Holds a lock for a scope.
template <class L>
class [[nodiscard]] Guard {
public:
    explicit Guard(L &lock) : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;

private:
    L &lock_;
};

/// Tries to hold a lock for a scope in which the thread only reads statistics. The thread may be a signal handler that
/// calls exit() and has interrupted the holder of the lock: so it waits for some 100 ms at most, then reads without the
/// lock. A thread that holds the lock for as long is not running, or is in a long operation.
template <class L>
class [[nodiscard]] Glance {
public:
    explicit Glance(L &lock) : lock_(lock), held_(lock.try_lock()) {
        if (CAIRN_UNLIKELY(!held_)) {
            wait();
        }
    }
    ~Glance() {
        if (held_) {
            lock_.unlock();
        }
    }
    Glance(const Glance &) = delete;
    Glance &operator=(const Glance &) = delete;
    explicit operator bool() const { return held_; } ///< the lock is held: linked lists may be followed

private:
    /// Counts tries and reads no clock: the program's clock may stand still (libfaketime).
    CAIRN_COLD void wait() {
        for (int tries = 0; !held_ && tries < platform::longest_wait; ++tries) {
            if (lock_.held()) {
                platform::wait_a_little(tries);
            }
            held_ = lock_.try_lock();
        }
    }

    L &lock_;
    bool held_;
};

} // namespace cairn::sync
