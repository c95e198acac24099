// SPDX-License-Identifier: MIT
//
// Rank: the order in which a thread takes locks, looked at in debug builds.
//
// Adds:    what a lock says when it is taken and let go of; an error when a thread takes one whose rank is not above
//          those that it holds, of whatever kind of lock.
// Threads: any; what a thread holds is noted in the thread.
// Errors:  the process stops: two locks that are taken in both orders lock each other out one day.
// Cost:    none in a release build.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <cstdint>

namespace cairn::sync {

/// Locks are taken in rising rank. `debug` is for what watches a heap: it may stand below every other lock.
enum class Rank : std::uint8_t {
    superblock,
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

class Ranked {
public:
    explicit constexpr Ranked(Rank rank) : rank_(rank) {}

    /// Before the lock is waited for.
    void check() const {
        if constexpr (platform::checked) {
            if ((held() >> static_cast<unsigned>(rank_)) != 0) {
                platform::fatal({"lock of rank ", std::uint64_t{static_cast<unsigned>(rank_)},
                                 " taken while one of the same or a higher rank is held"});
            }
        }
    }

    /// When it is taken, and before it is let go of.
    void note() const {
        if constexpr (platform::checked) {
            held() ^= 1u << static_cast<unsigned>(rank_);
        }
    }

    /// In the child of a fork, where every lock is made free: its thread may have been interrupted while it held some.
    static void forget_held() {
        if constexpr (platform::checked) {
            held() = 0;
        }
    }

private:
    /// One bit a rank that this thread holds; debug builds only.
    static std::uint32_t &held() {
        static thread_local constinit std::uint32_t ranks = 0;
        return ranks;
    }

    Rank rank_;
};

} // namespace cairn::sync
