// SPDX-License-Identifier: MIT
//
// Rank: the order in which a thread takes locks, checked in debug builds.
//
// Adds:    Ranked, to which a lock of any kind reports that a thread takes or releases it; an error when a thread takes
//          a lock whose rank is not above the ranks of all locks that the thread holds. Locks of rank `composed` may be
//          taken while others of that rank are held.
// Threads: any; the ranks that a thread holds are counted in a thread-local variable.
// Errors:  the process ends with a message: two locks that are taken in both orders can deadlock.
// Cost:    none in a release build.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <cstdint>

namespace cairn::sync {

/// Locks are taken in rising rank. `composed` is for heaps that are composed of layers: a layer calls the layer below
/// and is not called by it, so the locks of several layers are always taken in one order, and before those of an
/// allocator below the layers. `superblock` and `owner` are for the allocators of family/. `debug` is for layers that
/// record or check calls: such a layer may be called with any other lock held.
enum class Rank : std::uint8_t {
    composed,
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

class CAIRN_BY_CHECKS Ranked {
public:
    explicit constexpr Ranked(Rank rank) : rank_(rank) {}

    /// Before the thread waits for the lock: ends the process if the thread holds a lock of this rank or a higher one.
    void check() const {
        if constexpr (platform::checked) {
            if (held() >> place() >> (rank_ == Rank::composed ? bits_ : 0) != 0) {
                platform::fatal({"lock of rank ", std::uint64_t{static_cast<unsigned>(rank_)},
                                 " taken while one of the same or a higher rank is held"});
            }
        }
    }

    /// After the thread has taken the lock.
    void note_taken() const {
        if constexpr (platform::checked) {
            held() += std::uint64_t{1} << place();
        }
    }

    /// Before the thread releases the lock.
    void note_let_go() const {
        if constexpr (platform::checked) {
            held() -= std::uint64_t{1} << place();
        }
    }

    /// In the child of a fork, where every lock is reset: the thread that forks may be in a signal handler that
    /// interrupted a holder of locks.
    static void forget_held() {
        if constexpr (platform::checked) {
            held() = 0;
        }
    }

private:
    static constexpr unsigned bits_ = 5;
    static_assert((static_cast<unsigned>(Rank::debug) + 1) * bits_ <= 64);
    unsigned place() const { return static_cast<unsigned>(rank_) * bits_; }

    /// How many locks of each rank this thread holds, bits_ bits a rank; debug builds only.
    static std::uint64_t &held() {
        static thread_local constinit std::uint64_t ranks = 0;
        return ranks;
    }

    Rank rank_;
};

} // namespace cairn::sync
