// SPDX-License-Identifier: MIT
//
// Spare runs: runs that were freed a moment ago, for threads that allocate and free such blocks in turn.
//
// Adds:    put, take; a place for a thread, which it shares with those whose numbers fall on the same one.
// Needs:   runs all of whose slots are `taken`, so that a fork's child finds them.
// Keeps:   a run is in one place at most; however many threads there are, the short ones, of up to 256 KiB, have 4 MiB at most
//          together, and the long ones, of less than 8 MiB, which are counted, 8 MiB.
// Threads: any. The descriptors of a run go along with it.
// Cost:    an exchange each, and an addition for a long one, or a load where there is nothing.
// Source:  docs/decisions/a-freed-run-waits-for-its-thread.md.
#pragma once

#include <cairn/run/live_runs.hpp>

namespace cairn {

class SpareRuns {
public:
    static constexpr unsigned short_slots = 4;
    static constexpr unsigned most_slots = alignof(OwnerLine) - 1;
    static constexpr unsigned long_slots = 8_MiB / slot_size; ///< of all long ones
    static constexpr std::size_t longest = most_slots * slot_size;
    static constexpr unsigned least_turns = 3; ///< before a long run waits: elsewhere it may be wanted sooner
    static constexpr unsigned places = 16;
    static constexpr unsigned nobody = 0; ///< the number of who has no place

    constexpr SpareRuns() = default;
    SpareRuns(const SpareRuns &) = delete;
    SpareRuns &operator=(const SpareRuns &) = delete;

    /// The thread has a block in this run, from elsewhere than from its place: freed as the last of them, it is in turn.
    void note(unsigned who, const OwnerLine *run) {
        places_[who % places].last.store(run, std::memory_order_relaxed);
    }

    /// What is the caller's now: what lay in the place before, nullptr for nothing, or the run itself, if it is not to wait.
    OwnerLine *put(unsigned who, OwnerLine *run) {
        if (CAIRN_UNLIKELY(run->slots > short_slots) && !admit(who, run)) {
            return run;
        }
        // acq_rel: pairs with itself and with take(): what its last holder wrote to the run's descriptors is seen.
        return left(
            places_[who % places].word.exchange(address_of(run) + run->slots, std::memory_order_acq_rel));
    }

    OwnerLine *take(unsigned who) {
        // acquire: pairs with put().
        return slots(who) == 0 ? nullptr
                               : left(places_[who % places].word.exchange(0, std::memory_order_acquire));
    }

    /// How long the run in that place is; 0: there is none. relaxed: a hint.
    unsigned slots(unsigned who) const {
        return slots_of(places_[who % places].word.load(std::memory_order_relaxed));
    }

    /// Of the long ones together. relaxed: a hint.
    std::size_t long_bytes() const { return long_slots_.load(std::memory_order_relaxed) * slot_size; }

    LiveRuns::Sum sum() const {
        LiveRuns::Sum all;
        for (unsigned who = 0; who < places; ++who) {
            all.blocks += slots(who) != 0;
            all.bytes += slots(who) * slot_size;
        }
        return all;
    }

    /// In the child of a fork of a threaded process, where the slots say that these are free.
    void forget() {
        for (Place &place : places_) {
            place.word.store(0, std::memory_order_relaxed); // relaxed: alone
        }
        long_slots_.store(0, std::memory_order_relaxed);
    }

private:
    struct alignas(platform::cache_line) Place {
        std::atomic<std::uintptr_t> word{0}; ///< the run's line, and its slots in the bits that lines leave
        std::atomic<const OwnerLine *> last{nullptr}; ///< relaxed, as `turns`: a hint
        std::atomic<unsigned> turns{0}; ///< so many long runs were freed as the last that was had
    };
    static unsigned slots_of(std::uintptr_t word) { return static_cast<unsigned>(word % alignof(OwnerLine)); }

    OwnerLine *left(std::uintptr_t word) {
        if (CAIRN_UNLIKELY(slots_of(word) > short_slots)) {
            dismiss(slots_of(word));
        }
        return reinterpret_cast<OwnerLine *>(align_down(word, alignof(OwnerLine)));
    }

    // Out of the way of short runs, whose pair took twice the time with these in it. relaxed: a count, which hands over nothing.
    CAIRN_NOINLINE bool admit(unsigned who, const OwnerLine *run) {
        const unsigned slots = run->slots;
        if (slots > most_slots || !is_in_turn(places_[who % places], run)) {
            return false;
        }
        const bool fits = long_slots_.fetch_add(slots, std::memory_order_relaxed) + slots <= long_slots;
        if (!fits) {
            dismiss(slots);
        }
        return fits;
    }
    static bool is_in_turn(Place &place, const OwnerLine *run) {
        const bool is_last = place.last.load(std::memory_order_relaxed) == run;
        const unsigned turns = is_last ? place.turns.load(std::memory_order_relaxed) + 1 : 0;
        place.turns.store(turns, std::memory_order_relaxed);
        return turns >= least_turns;
    }
    CAIRN_NOINLINE void dismiss(unsigned slots) { long_slots_.fetch_sub(slots, std::memory_order_relaxed); }

    Place places_[places];
    alignas(platform::cache_line) std::atomic<unsigned> long_slots_{0}; ///< in places, or on their way there
};

} // namespace cairn
