// SPDX-License-Identifier: MIT
//
// Spare runs: short runs that were freed a moment ago, for threads that allocate and free such blocks in turn.
//
// Adds:    put, take; a place for a thread, which it shares with those whose numbers fall on the same one.
// Needs:   runs all of whose slots are `taken`, so that a fork's child finds them.
// Keeps:   a run is in one place at most; all together have 4 MiB at most, however many threads there are.
// Threads: any. The descriptors of a run go along with it.
// Cost:    an exchange each, or a load where there is nothing.
// Source:  docs/decisions/a-freed-run-waits-for-its-thread.md.
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

class SpareRuns {
public:
    static constexpr unsigned most_slots = 4;
    static constexpr std::size_t longest = most_slots * slot_size;
    static constexpr unsigned places = 16;
    static constexpr unsigned nobody = 0; ///< the number of who has no place

    constexpr SpareRuns() = default;
    SpareRuns(const SpareRuns &) = delete;
    SpareRuns &operator=(const SpareRuns &) = delete;

    /// What lay in the place before, which is now the caller's; nullptr for nothing.
    OwnerLine *put(unsigned who, OwnerLine *run) {
        // acq_rel: pairs with itself and with take(): what its last holder wrote to the run's descriptors is seen.
        return run_of(
            places_[who % places].word.exchange(address_of(run) + run->slots, std::memory_order_acq_rel));
    }

    OwnerLine *take(unsigned who) {
        // acquire: pairs with put().
        return slots(who) == 0 ? nullptr
                               : run_of(places_[who % places].word.exchange(0, std::memory_order_acquire));
    }

    /// How long the run in that place is; 0: there is none. relaxed: a hint.
    unsigned slots(unsigned who) const {
        return static_cast<unsigned>(places_[who % places].word.load(std::memory_order_relaxed) %
                                     platform::cache_line);
    }

    /// In the child of a fork of a threaded process, where the slots say that these are free.
    void forget() {
        for (Place &place : places_) {
            place.word.store(0, std::memory_order_relaxed); // relaxed: alone
        }
    }

private:
    struct alignas(platform::cache_line) Place {
        std::atomic<std::uintptr_t> word{0}; ///< the run's line, and its slots in the bits that lines leave
    };
    static OwnerLine *run_of(std::uintptr_t word) {
        return reinterpret_cast<OwnerLine *>(align_down(word, platform::cache_line));
    }
    Place places_[places];
};

} // namespace cairn
