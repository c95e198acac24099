// SPDX-License-Identifier: MIT
//
// Spare runs: runs that were freed a moment ago, for threads that allocate and free such blocks in turn.
//
// Adds:    put, take, give_up; a place for a thread, which it shares with those whose numbers fall on the same one.
// Needs:   runs all of whose slots are `taken`, so that a fork's child finds them.
// Keeps:   a run is in one place at most; however many threads there are, the short ones, of up to 256 KiB, have 4 MiB at most
//          together, and the long ones, of less than 8 MiB, 16 MiB: of which a place has the room of its last one, until that is left.
// Threads: any. The descriptors of a run go along with it.
// Cost:    an exchange each, or a load where there is nothing; an addition for a long one's room.
// Source:  docs/decisions/spare-runs.md.
#pragma once

#include <cairn/run/live_runs.hpp>

#include <algorithm>

namespace cairn {

class SpareRuns {
public:
    static constexpr unsigned short_slots = 4;
    static constexpr unsigned most_slots = alignof(OwnerLine) - 1;
    static constexpr unsigned long_slots = 16_MiB / slot_size; ///< of all long ones: two of the longest
    static constexpr std::size_t longest = most_slots * slot_size;
    static constexpr unsigned least_turns = 3; ///< before a long run waits: elsewhere it may be wanted sooner
    static constexpr unsigned turns_untold = 8;
    static constexpr unsigned places = 16;
    static constexpr unsigned nobody = 0; ///< the number of who has no place

    constexpr SpareRuns() = default;
    SpareRuns(const SpareRuns &) = delete;
    SpareRuns &operator=(const SpareRuns &) = delete;

    /// The thread has a block in this run, from elsewhere than from its place: freed as the last of them, it is in turn.
    void note(unsigned who, const OwnerLine *run) {
        places_[who % places].last.store(run, std::memory_order_relaxed);
    }

    /// What is the caller's now: what lay in the place before, nullptr for nothing, or the run itself, if it is not to wait. Of a long
    /// one excess() is to follow.
    OwnerLine *put(unsigned who, OwnerLine *run) {
        Place &place = places_[who % places];
        if (CAIRN_UNLIKELY((run->slots > short_slots && !may_wait(place, run)) || who == nobody)) {
            return run;
        }
        // seq_cst: pairs with itself and with take(): what its last holder wrote to the run's descriptors is seen; and stands before
        // the look at the room in excess(), as leave_room() before the look at the word.
        return run_of(place.word.exchange(address_of(run) + run->slots, std::memory_order_seq_cst));
    }

    /// What lies in the place and has no room there any more: the caller's now.
    OwnerLine *excess(unsigned who) {
        // seq_cst, as in slots(): of two threads, one that puts a run there and one that leaves the room, at least one sees what the
        // other did.
        const unsigned room = places_[who % places].room.load(std::memory_order_seq_cst);
        return slots(who) > std::max(room, short_slots) ? take(who) : nullptr;
    }

    /// After put() of a long one: whether others are to hear that there are such.
    bool is_to_be_told(unsigned who) const {
        return (places_[who % places].turns.load(std::memory_order_relaxed) - least_turns) % turns_untold ==
               0;
    }

    OwnerLine *take(unsigned who) {
        // acquire: pairs with put().
        return slots(who) == 0 ? nullptr
                               : run_of(places_[who % places].word.exchange(0, std::memory_order_acquire));
    }

    /// What lies in the place, whose room is all threads' again. One that is on its way there excess() takes.
    OwnerLine *give_up(unsigned who) {
        leave_room(places_[who % places]);
        return take(who);
    }

    /// How long the run in that place is; 0: there is none. A hint.
    unsigned slots(unsigned who) const {
        return slots_of(places_[who % places].word.load(std::memory_order_seq_cst));
    }

    /// The long ones have no more together. relaxed: a hint.
    std::size_t long_room() const { return long_slots_.load(std::memory_order_relaxed) * slot_size; }

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
            place.word.store(0, std::memory_order_relaxed); // relaxed, all: alone
            place.room.store(0, std::memory_order_relaxed);
        }
        long_slots_.store(0, std::memory_order_relaxed);
    }

private:
    struct alignas(platform::cache_line) Place {
        std::atomic<std::uintptr_t> word{0}; ///< the run's line, and its slots in the bits that lines leave
        std::atomic<const OwnerLine *> last{nullptr}; ///< relaxed, as `turns`: a hint
        std::atomic<unsigned> turns{0}; ///< so many long runs in a row were freed as the last that was had
        std::atomic<unsigned> room{0};  ///< slots that a long one may have here; stays when it is taken
    };
    static unsigned slots_of(std::uintptr_t word) { return static_cast<unsigned>(word % alignof(OwnerLine)); }
    static OwnerLine *run_of(std::uintptr_t word) {
        return reinterpret_cast<OwnerLine *>(align_down(word, alignof(OwnerLine)));
    }

    // relaxed, all: hints, until excess() asks, and a count, which hands over nothing.
    static unsigned next_turn(Place &place, const OwnerLine *run) {
        const bool is_last = place.last.load(std::memory_order_relaxed) == run;
        const unsigned turn = is_last ? place.turns.load(std::memory_order_relaxed) + 1 : 0;
        place.turns.store(turn, std::memory_order_relaxed);
        return turn;
    }
    CAIRN_INLINE bool may_wait(Place &place, const OwnerLine *run) {
        const bool in_turn = next_turn(place, run) >= least_turns;
        return (in_turn && place.room.load(std::memory_order_relaxed) >= run->slots) ||
               make_room(place, in_turn ? run->slots : 0);
    }
    /// Out of the way of runs that have it. slots: 0 for one that is not to wait.
    CAIRN_NOINLINE bool make_room(Place &place, unsigned slots) {
        leave_room(place);
        if (slots == 0 || slots > most_slots) {
            return false;
        }
        if (long_slots_.load(std::memory_order_relaxed) + slots > long_slots) {
            return false; // without an addition, which other threads would wait for
        }
        const bool fits = long_slots_.fetch_add(slots, std::memory_order_relaxed) + slots <= long_slots;
        const unsigned left = fits ? place.room.exchange(slots, std::memory_order_relaxed) : slots;
        long_slots_.fetch_sub(left, std::memory_order_relaxed);
        return fits;
    }
    void leave_room(Place &place) {
        if (place.room.load(std::memory_order_relaxed) != 0) {
            const unsigned left = place.room.exchange(0, std::memory_order_seq_cst); // for excess()
            long_slots_.fetch_sub(left, std::memory_order_relaxed);
        }
    }

    Place places_[places];
    alignas(platform::cache_line) std::atomic<unsigned> long_slots_{0}; ///< the rooms of all places
};

} // namespace cairn
