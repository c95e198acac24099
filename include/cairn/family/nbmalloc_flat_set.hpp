// SPDX-License-Identifier: MIT
//
// NBmalloc's bounded flat-set: an array of slots for superblock references.
//
// Adds:    get_any, insert, announce.
// Needs:   zeroed memory. A way to move into a slot (nbmalloc_move.hpp).
// Keeps:   `current` has the paper's index, where searches start, and its empty flag. While a superblock has its
//          settled place in the set the flag is clear and its slot is below `end`: every move announces the slot it has
//          filled before it is over, whoever finishes it, and an announcement makes the exchange fail that would set
//          the flag. `end` bounds a search to the slots in use; it goes back to 0 with the flag.
// Threads: any; lock-free.
// Errors:  insert: `place_is_taken` when no slot was empty: the set is full.
// Cost:    get_any looks at a slot or two in a set with many superblocks, and once at `end` slots when the set has
//          become empty.
// Source:  NBmalloc, section 4.1, Fig. 3: Get_Any, Insert; line numbers below are the paper's.
#pragma once

#include <cairn/family/nbmalloc_move.hpp>

#include <algorithm>

namespace cairn {

template <class Reference, std::size_t Slots>
class NbFlatSet {
public:
    static constexpr std::size_t slots = Slots;

    struct Found {
        Reference reference;
        std::uint32_t slot;
    };

    /// Get_Any: any superblock of the set, which stays where it is. False: there was none.
    bool get_any(Found &found) {
        for (;;) {
            // acquire: pairs with the release in change() of an announcement: its slot is filled.
            Current old{current_.load(std::memory_order_acquire)};
            if (old.empty) { // G3
                return false;
            }
            std::uint32_t i = old.index;
            for (std::uint32_t j = 0; j < old.end; ++j) { // G6
                // acquire: pairs with the release of steps 2 and 3: the superblock's descriptor is there; and whence a
                // superblock has gone, it can be found where it went.
                found = {Reference::of_bits(slots_[i].load(std::memory_order_acquire)), i};
                if (!found.reference.is_null()) {
                    if (i != old.index) { // G10; whether it succeeds or another's does is all one
                        change(old, old.changed(i, old.end, false));
                    }
                    return true;
                }
                i = i == 0 ? old.end - 1 : i - 1; // G12
            }
            if (change(old, old.changed(0, 0, true))) { // G13
                return false;
            }
        }
    }

    /// Insert: `move(slot, version)` tries to move the superblock into a slot that was empty with that version. Only
    /// the first `size` slots are used.
    template <class M>
    NbMoved insert(std::size_t size, M move) {
        // relaxed: where to begin is a matter of speed. The paper begins one slot further (I2); here a set that has
        // one superblock at a time uses one slot.
        std::uint32_t i = Current{current_.load(std::memory_order_relaxed)}.index;
        for (std::size_t j = 0; j < size; ++j) { // I3
            Reference seen = look_at(i);
            while (seen.is_null()) { // I4
                const NbMoved result = move(i, seen.tag());
                if (result != NbMoved::place_is_taken) {
                    return result; // I8 to I13
                }
                seen = look_at(i);
            }
            i = i + 1 < size ? i + 1 : 0; // I16
        }
        return NbMoved::place_is_taken; // I18
    }

    /// I9, by whoever gets to this step of a move.
    void announce(std::uint32_t slot) {
        Current old{current_.load(std::memory_order_relaxed)}; // relaxed: the exchange decides
        while (!change(old, old.changed(slot, std::max(old.end, slot + 1), false))) {
        }
    }

    std::atomic<std::uint64_t> &slot(std::size_t i) { return slots_[i]; }

    /// For tests, which run alone: relaxed.
    bool is_marked_empty() const { return Current{current_.load(std::memory_order_relaxed)}.empty; }

private:
    static_assert(Slots > 0 && Slots < 0xffff);

    /// flat-set_info. Each change raises the version, which wraps after 2^31.
    struct Current {
        std::uint32_t index, end;
        bool empty;
        std::uint32_t version;

        Current(std::uint32_t i, std::uint32_t n, bool e, std::uint32_t v)
            : index(i), end(n), empty(e), version(v) {}
        explicit Current(std::uint64_t bits)
            : index(bits & 0xffff), end(bits >> 16 & 0xffff), empty((bits >> 32 & 1) != 0),
              version(static_cast<std::uint32_t>(bits >> 33)) {}
        std::uint64_t bits() const {
            return index | std::uint64_t{end} << 16 | std::uint64_t{empty} << 32 |
                   std::uint64_t{version} << 33;
        }
        Current changed(std::uint32_t i, std::uint32_t n, bool e) const { return {i, n, e, version + 1}; }
    };

    /// relaxed: the version is what counts, and the exchange of step 2 finds out whether it is an old one.
    Reference look_at(std::uint32_t i) const {
        return Reference::of_bits(slots_[i].load(std::memory_order_relaxed));
    }

    bool change(Current &old, Current desired) {
        std::uint64_t bits = old.bits();
        // release: pairs with the load in get_any, which through the chain of exchanges sees each one before as well.
        const bool done = current_.compare_exchange_strong(bits, desired.bits(), std::memory_order_release,
                                                           std::memory_order_relaxed);
        old = Current{bits};
        return done;
    }

    std::atomic<std::uint64_t> current_;
    [[maybe_unused]] std::uint64_t padding_[2]; ///< with 4,093 slots a set is eight pages
    std::atomic<std::uint64_t> slots_[Slots];
};

} // namespace cairn
