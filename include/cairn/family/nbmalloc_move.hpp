// SPDX-License-Identifier: MIT
//
// NBmalloc's Move: takes a superblock's reference from one slot to another, so that it is reachable all the time, is in
// one slot when no move is under way, and no stopped thread keeps others from moving it on.
//
// Adds:    move, and `settled`, which first finishes what others began.
// Needs:   Places: Layout; slot(superblock, location); announce(location), which makes a filled slot known to its set.
//          Pause: called after each step; tests stop threads there.
// Keeps:   the invariants and the argument of docs/nbmalloc.md. In short: mv_info names both slots with their versions,
//          a slot's version rises with each change, so each step can happen once only, whoever does it how late ever.
// Threads: any; lock-free. Order: mv_info's exchanges are seq_cst, and hand on what their threads have seen of the
//          slots; the slots' are releases, for who finds a superblock, or finds it gone.
// Cost:    two double-width and two single compare-exchanges, and the announcement.
// Source:  NBmalloc, section 4.2, Fig. 3: Move, Move_Help; line numbers below are the paper's.
#pragma once

#include <cairn/family/nbmalloc_superblock.hpp>

namespace cairn {

enum class NbMoved : std::uint8_t {
    done,           ///< SB_MOVED_OK
    by_another,     ///< SB_MOVED: it was not at `from` any more
    place_is_taken, ///< SB_NOT_MOVED
};

enum class NbStep : std::uint8_t { registered, placed, announced, cleared };

struct NbNoPause {
    static constexpr void after(NbStep) {}
};

template <class Places, class Pause = NbNoPause>
class NbMover {
public:
    using Layout = typename Places::Layout;
    using Reference = typename Layout::Reference;

    /// Moves `superblock` from the slot `from` to the slot `to`, which was empty with `to_version`.
    static NbMoved move(Places &places, NbSuperblock &superblock, NbLocation from, NbLocation to,
                        std::uint64_t to_version) {
        // `to` was seen empty, so the superblock had left it; it may have come back since, and a move from a slot to
        // itself would take it for filled by step 2 and clear it.
        if (from == to) {
            return NbMoved::by_another;
        }
        // Step 1: register the move (M3 to M10). That nothing is under way and that the superblock is at `from` is one
        // comparison: a settled mv_info says where it is.
        for (;;) {
            const NbMove old = settled(places, superblock);
            if (old.from != from) {
                return NbMoved::by_another;
            }
            const NbMove mine{from, old.from_version, to, static_cast<std::uint32_t>(to_version)};
            if (exchange(superblock, old, mine)) {
                Pause::after(NbStep::registered);
                return help(places, superblock, mine);
            }
        }
    }

    /// Where the superblock is, once no move is under way (M11 to M14).
    static NbMove settled(Places &places, NbSuperblock &superblock) {
        for (;;) {
            const NbMove now = NbMove::of(superblock.moves.load());
            if (!now.under_way()) {
                return now;
            }
            help(places, superblock, now);
        }
    }

private:
    /// Move_Help. `move` was registered; it may be over by now.
    static NbMoved help(Places &places, NbSuperblock &superblock, const NbMove &move) {
        char *const memory = Layout::memory(&superblock);
        std::atomic<std::uint64_t> &from = places.slot(superblock, move.from);
        std::atomic<std::uint64_t> &to = places.slot(superblock, move.to);
        const Reference there{memory, move.from_version};
        const Reference placed{memory, move.to_version + 1u};

        // Step 2: fill `to` (H2 to H4). The version is the registered one, not one that is read now: a late helper must
        // not fill a slot that was filled and emptied again in the meantime. release: pairs with the load in get_any.
        // relaxed if it fails: what it sees is the registered version or later, since whoever registered it had seen
        // that.
        std::uint64_t seen = Reference{nullptr, move.to_version}.bits();
        if (!to.compare_exchange_strong(seen, placed.bits(), std::memory_order_release,
                                        std::memory_order_relaxed) &&
            seen != placed.bits()) {
            // Another superblock came first, or the move is long over; then this changes nothing (H6 to H11).
            exchange(superblock, move, move.settled());
            return NbMoved::place_is_taken;
        }
        Pause::after(NbStep::placed);
        // Before the superblock can be at `to` alone, whoever looks into that set must find it (I9).
        places.announce(move.to);
        Pause::after(NbStep::announced);

        // Step 3: clear `from` (H13). release: pairs with the load in get_any: who finds it gone finds it at `to`.
        std::uint64_t old = there.bits();
        from.compare_exchange_strong(old, there.next(nullptr).bits(), std::memory_order_release,
                                     std::memory_order_relaxed);
        check_left(old, there, memory);
        Pause::after(NbStep::cleared);

        // Step 4: remove the registration (H15 to H18).
        exchange(superblock, move, {move.to, static_cast<std::uint32_t>(placed.tag()), nb_nowhere, 0});
        return NbMoved::done;
    }

    static bool exchange(NbSuperblock &superblock, const NbMove &old, const NbMove &desired) {
        platform::DoubleWord expected = old.word();
        return superblock.moves.compare_exchange(expected, desired.word());
    }

    /// What was at `from`: the superblock; or nothing that has its version.
    static void check_left(std::uint64_t seen, Reference there, const char *memory) {
        if constexpr (platform::checked) {
            const Reference left = Reference::of_bits(seen);
            if (left != there && left.tag() == there.tag()) {
                platform::fatal({"a superblock was registered where it was not: ", memory});
            }
        }
    }
};

} // namespace cairn
