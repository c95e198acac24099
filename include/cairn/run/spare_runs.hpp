// SPDX-License-Identifier: MIT
//
// Spare runs: runs that threads have just freed, kept for threads that allocate and free large blocks in turn.
//
// Adds:    put, take, give_up. Each thread has a place for one run; threads whose numbers are congruent share a place.
// Needs:   the live word of a spare run's descriptor says `dead`, so that the child of a fork finds the run.
// Keeps:   a run is in one place at most. For any number of threads, the short runs, of up to 256 KiB, have at most 4
//          MiB together, and the long runs, of less than 8 MiB, at most 16 MiB: a place reserves room for its last long
//          run, and keeps the reservation while the run is in use, until it is given up.
// Threads: any. A thread that takes a run owns its descriptors too.
// Cost:    an exchange each, or a load where a place is empty; an addition for the room of a long run.
// Source:  docs/decisions/spare-runs.md.
#pragma once

#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn {

class SpareRuns {
public:
    static constexpr unsigned short_slots = 4;
    static constexpr unsigned most_slots = alignof(OwnerLine) - 1;
    static constexpr unsigned long_slots = 16_MiB / slot_size; ///< for all long runs: two of the longest
    static constexpr std::size_t longest = most_slots * slot_size;
    static constexpr unsigned least_turns = 3;   ///< until a long run is kept: others may need it sooner
    static constexpr unsigned turns_a_check = 8; ///< see check_is_due()
    static constexpr unsigned places = 16;
    static constexpr unsigned no_heap = 0; ///< the number of a thread without a place

    constexpr SpareRuns() = default;
    SpareRuns(const SpareRuns &) = delete;
    SpareRuns &operator=(const SpareRuns &) = delete;

    /// The thread has allocated a block in this run, which was not a spare. If it frees that run next, it frees and
    /// allocates in turn.
    void note(unsigned heap_number, const OwnerLine *run) {
        places_[heap_number % places].last.store(run, std::memory_order_relaxed);
    }

    /// Puts a run into the thread's place. Returns the run that the caller has to free: the one that was there before,
    /// or `run` itself if it is not to be kept; nullptr for none. After a long run the caller calls excess().
    OwnerLine *put(unsigned heap_number, OwnerLine *run) {
        Place &place = places_[heap_number % places];
        if (CAIRN_UNLIKELY((run->slots > short_slots && !may_wait(place, run)) || heap_number == no_heap)) {
            return run;
        }
        // seq_cst: pairs with the exchanges in put() and take() of the next holder, which sees what this one wrote to
        // the run's descriptors; and comes before the load of the room in excess(), as the exchange in leave_room()
        // comes before the load of the word.
        return run_of(place.word.exchange(address_of(run) + run->slots, std::memory_order_seq_cst));
    }

    /// The run in the thread's place if it is longer than the room that the place has; the caller has to free it.
    OwnerLine *excess(unsigned heap_number) {
        // seq_cst, as the load in slots(): of a thread that puts a run there and a thread that gives up the room, at
        // least one sees what the other one did.
        const unsigned room = places_[heap_number % places].room.load(std::memory_order_seq_cst);
        return slots(heap_number) > std::max(room, short_slots) ? take(heap_number) : nullptr;
    }

    /// After put() of a long run: whether the caller has to check now whether free memory exceeds its limit. True once
    /// in turns_a_check frees in turn.
    bool check_is_due(unsigned heap_number) const {
        const unsigned turns = places_[heap_number % places].turns.load(std::memory_order_relaxed);
        return (turns - least_turns) % turns_a_check == 0;
    }

    /// The run in the thread's place, or nullptr; it is the caller's then.
    OwnerLine *take(unsigned heap_number) {
        // acquire: pairs with put(): what the last holder wrote to the run's descriptors is seen.
        return slots(heap_number) == 0
                   ? nullptr
                   : run_of(places_[heap_number % places].word.exchange(0, std::memory_order_acquire));
    }

    /// Gives up the room of a place, and takes the run in it, or nullptr. A run that another thread puts there
    /// meanwhile is taken by that thread's excess().
    OwnerLine *give_up(unsigned heap_number) {
        leave_room(places_[heap_number % places]);
        return take(heap_number);
    }

    /// The length of the run in the thread's place; 0 if there is none. A hint.
    unsigned slots(unsigned heap_number) const {
        return slots_of(places_[heap_number % places].word.load(std::memory_order_seq_cst));
    }

    /// An upper bound of the bytes of all long spare runs. relaxed: a hint.
    std::size_t long_room() const { return long_slots_.load(std::memory_order_relaxed) * slot_size; }

    /// The bytes of all spare runs. A hint.
    std::size_t bytes() const {
        std::size_t all = 0;
        for (unsigned place = 0; place < places; ++place) {
            all += slots(place) * slot_size;
        }
        return all;
    }

    /// In the child of a fork of a process with several threads, where the repair of the runs frees the spares.
    void forget() {
        for (Place &place : places_) {
            place.word.store(0, std::memory_order_relaxed); // all relaxed: the child has one thread
            place.room.store(0, std::memory_order_relaxed);
        }
        long_slots_.store(0, std::memory_order_relaxed);
    }

private:
    struct alignas(platform::cache_line) Place {
        std::atomic<std::uintptr_t> word{0}; ///< the run's line; the number of its slots in the low bits
        std::atomic<const OwnerLine *> last{nullptr}; ///< last run allocated; relaxed, as `turns`: a hint
        std::atomic<unsigned> turns{0}; ///< long runs freed in a row that were each the last one allocated
        std::atomic<unsigned> room{0};  ///< slots reserved for a long run; kept while the run is in use
    };
    static unsigned slots_of(std::uintptr_t word) { return static_cast<unsigned>(word % alignof(OwnerLine)); }
    static OwnerLine *run_of(std::uintptr_t word) {
        return reinterpret_cast<OwnerLine *>(align_down(word, alignof(OwnerLine)));
    }

    // All relaxed: hints, which excess() checks, and a counter; none of them hands over memory.
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
    /// Gives up the room of the place and reserves `slots` if as much is left; 0 for a run that is not to be kept. Out
    /// of line, so that may_wait() is short.
    CAIRN_NOINLINE bool make_room(Place &place, unsigned slots) {
        leave_room(place);
        if (slots == 0 || slots > most_slots) {
            return false;
        }
        if (long_slots_.load(std::memory_order_relaxed) + slots > long_slots) {
            return false; // no addition, for which other threads would have to wait
        }
        const bool fits = long_slots_.fetch_add(slots, std::memory_order_relaxed) + slots <= long_slots;
        const unsigned left = fits ? place.room.exchange(slots, std::memory_order_relaxed) : slots;
        long_slots_.fetch_sub(left, std::memory_order_relaxed);
        return fits;
    }
    void leave_room(Place &place) {
        if (place.room.load(std::memory_order_relaxed) != 0) {
            const unsigned left = place.room.exchange(0, std::memory_order_seq_cst); // pairs with excess()
            long_slots_.fetch_sub(left, std::memory_order_relaxed);
        }
    }

    Place places_[places];
    alignas(platform::cache_line) std::atomic<unsigned> long_slots_{0}; ///< the rooms of all places
};

} // namespace cairn
