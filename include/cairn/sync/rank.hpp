// SPDX-License-Identifier: MIT
//
// Rank: the order in which a thread takes locks, looked at in debug builds.
//
// Adds:    what a lock says when it is taken and let go of; an error when a thread takes one whose rank is not above
//          those that it holds, of whatever kind of lock. Locks of `composed` may be taken one in the other.
// Threads: any; what a thread holds is noted in the thread.
// Errors:  the process stops: two locks that are taken in both orders lock each other out one day.
// Cost:    none in a release build.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <cstdint>

namespace cairn::sync {

/// Locks are taken in rising rank. `composed` is for heaps that are put together of layers: they call those that they are
/// made of and are called by none of them, so that locks of several are always taken in one order. `debug` is for what
/// watches a heap: it may stand below every other lock.
enum class Rank : std::uint8_t {
    superblock,
    composed,
    thread_heap,
    registry,
    visit,
    global_heap,
    owner,
    huge,
    runs,
    stripe,
    leaf,
    debug
};

class CAIRN_BY_CHECKS Ranked {
public:
    explicit constexpr Ranked(Rank rank) : rank_(rank) {}

    /// Before the lock is waited for.
    void check() const {
        if constexpr (platform::checked) {
            if (held() >> place() >> (rank_ == Rank::composed ? bits_ : 0) != 0) {
                platform::fatal({"lock of rank ", std::uint64_t{static_cast<unsigned>(rank_)},
                                 " taken while one of the same or a higher rank is held"});
            }
        }
    }

    void note_taken() const {
        if constexpr (platform::checked) {
            held() += std::uint64_t{1} << place();
        }
    }

    /// Before it is let go of.
    void note_let_go() const {
        if constexpr (platform::checked) {
            held() -= std::uint64_t{1} << place();
        }
    }

    /// In the child of a fork, where every lock is made free: its thread may have been interrupted while it held some.
    static void forget_held() {
        if constexpr (platform::checked) {
            held() = 0;
        }
    }

private:
    static constexpr unsigned bits_ = 5;
    static_assert((static_cast<unsigned>(Rank::debug) + 1) * bits_ <= 64);
    unsigned place() const { return static_cast<unsigned>(rank_) * bits_; }

    /// How many locks this thread holds, some bits a rank; debug builds only.
    static std::uint64_t &held() {
        static thread_local constinit std::uint64_t ranks = 0;
        return ranks;
    }

    Rank rank_;
};

} // namespace cairn::sync
