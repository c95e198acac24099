// SPDX-License-Identifier: MIT
//
// Lock: a small lock for sections of some tens of instructions, or of a few system calls: spins a bounded number of times, lets
// others run, then sleeps.
//
// Adds:    lock, try_lock, unlock; Guard for a scope, Glance for who only reads figures; a rank that debug
//          builds check: a thread takes locks in rising order only.
// Needs:   nothing; constant-initialised, never destroyed.
// Keeps:   mutual exclusion; acquire on lock pairs with release on unlock.
// Threads: any. Not recursive, not for signal handlers.
// Cost:    one compare-exchange to take, one exchange to release; a system call only under contention.
// Source:  the bounded spin, and yielding after it, are LKmalloc's (section 6, D; as it is there: bounded_spin_lock.hpp); in the end
//          we sleep on the word (Drepper, "Futexes are tricky"). Why not at once: docs/decisions/lock-yielding.md.
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

    /// Whether anybody holds it. acquire: pairs with release(): if not, what the last holder did is seen.
    bool held() const { return word_.load(std::memory_order_acquire) != free_; }

    /// For who takes all locks of a heap before a fork, in any number and order of ranks, and lets go of them after it
    /// in the parent and in the child.
    void hold_across_fork() {
        if (!take()) {
            lock_contended();
        }
    }
    void let_go_after_fork() { release(); }

    /// For the child of a fork, where the holder does not exist any more. Writes only where it must, or the child would
    /// get a page of its own for each lock. relaxed: the child is alone.
    void reset_after_fork() {
        if (word_.load(std::memory_order_relaxed) != free_) {
            word_.store(free_, std::memory_order_relaxed);
        }
    }

private:
    bool take() {
        // acquire: pairs with release(). relaxed where it fails: nothing was taken.
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
            i < spins_ ? platform::cpu_relax() : platform::yield();
            // relaxed: a hint, take() decides.
            if (word_.load(std::memory_order_relaxed) == free_ && take()) {
                return;
            }
        }
        // acquire: pairs with release().
        while (word_.exchange(held_with_sleepers_, std::memory_order_acquire) != free_) {
            platform::futex_wait(word_, held_with_sleepers_);
        }
    }

    static constexpr std::uint32_t free_ = 0;
    static constexpr std::uint32_t held_ = 1;
    static constexpr std::uint32_t held_with_sleepers_ = 2;
    static constexpr int spins_ = 100;
    static constexpr int yields_ = 200; ///< some 80 us if nobody else is to run: a few system calls

    std::atomic<std::uint32_t> word_{free_};
    Ranked rank_;
};

/// Holds a lock for the length of a scope.
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

/// The same for who only reads figures, and who may have interrupted the holder (a handler that calls exit): waits for some 100 ms,
/// then reads without the lock. Whoever has it for so long does not run, or is about something long.
template <class L>
class [[nodiscard]] Glance {
public:
    explicit Glance(L &lock) : lock_(lock), held_(lock.try_lock()) {
        if (CAIRN_UNLIKELY(!held_)) {
            wait();
        }
    }
    ~Glance() { held_ ? lock_.unlock() : void(); }
    Glance(const Glance &) = delete;
    Glance &operator=(const Glance &) = delete;
    explicit operator bool() const { return held_; } ///< what is linked may be followed

private:
    /// Looks at no clock: the program's may stand still (libfaketime).
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
