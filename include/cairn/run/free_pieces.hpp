// SPDX-License-Identifier: MIT
//
// Free pieces: the free runs of a stripe, and how a piece is cut out of one free run or of several adjacent ones.
//
// Adds:    two sets of lists, of dirty and of clean runs; cutting; the bytes in each.
// Needs:   RunLists; the slot kinds in the segments.
// Keeps:   a slot is in exactly one run; two adjacent free runs are never of one kind (dirty: may be resident; clean:
//          reads as zero).
// Threads: the caller holds a lock; dirty_bytes() and clean_bytes() any.
// Cost:    some list operations for each run that is cut.
#pragma once

#include <cairn/run/run_lists.hpp>

#include <algorithm>
#include <atomic>

namespace cairn {

class FreePieces {
public:
    std::size_t clean_bytes() const { return clean_bytes_.load(std::memory_order_relaxed); }
    std::size_t dirty_bytes() const { return dirty_bytes_.load(std::memory_order_relaxed); }

    /// The lowest value of dirty_bytes() since the last call: so much memory was not needed in all that time.
    std::size_t exchange_low_water() {
        const std::size_t low = low_water_;
        low_water_ = dirty_bytes();
        return low;
    }

protected:
    constexpr FreePieces() = default;

    RunLists &lists(SlotKind kind) { return kind == SlotKind::free_clean ? clean_ : dirty_; }

    /// Takes [piece, piece + slots) out of the free run `whole`; the parts on either side stay free.
    void cut(OwnerLine *whole, OwnerLine *piece, unsigned slots, SlotKind kind) {
        lists(kind).remove(whole);
        const auto before = static_cast<unsigned>(piece - whole);
        const unsigned after = whole->slots - before - slots;
        Segment *const segment = Segment::of(piece);
        segment->set_kinds(segment->slot_of(piece), slots, SlotKind::taken);
        piece->slots = static_cast<std::uint16_t>(slots);
        if (before != 0) {
            whole->slots = static_cast<std::uint16_t>(before);
            lists(kind).insert(whole);
        }
        if (after != 0) {
            piece[slots].slots = static_cast<std::uint16_t>(after);
            lists(kind).insert(piece + slots);
        }
        publish();
    }

    /// Takes [piece, piece + slots) out of several adjacent free runs, the first of which may begin before the piece
    /// and the last of which may end behind it.
    void cut_mixed(OwnerLine *piece, unsigned slots) {
        Segment *const segment = Segment::of(piece);
        const unsigned end = segment->slot_of(piece) + slots;
        unsigned at = segment->slot_of(piece);
        while (at > metadata_slots && segment->kind(at - 1) == segment->kind(at)) {
            --at; // two adjacent free runs are never of one kind
        }
        while (at < end) {
            OwnerLine *const run = &segment->owner_lines[at];
            const unsigned length = run->slots;
            OwnerLine *const from = std::max(run, piece);
            const auto skipped = static_cast<unsigned>(from - run);
            cut(run, from, std::min(length - skipped, end - at - skipped), segment->kind(at));
            at += length;
        }
        piece->slots = static_cast<std::uint16_t>(slots);
    }

    /// The dirty run in front of a run in use, or behind it; nullptr if there is none.
    static OwnerLine *dirty_neighbour(OwnerLine *run) {
        const Segment *const segment = Segment::of(run);
        const unsigned slot = segment->slot_of(run), end = slot + run->slots;
        if (segment->kind(slot - 1) == SlotKind::free_dirty) {
            return run - run[-1].slots; // the boundary tag
        }
        return end < segment->mapped_slots && segment->kind(end) == SlotKind::free_dirty ? run + run->slots
                                                                                         : nullptr;
    }

    void publish() {
        const std::size_t bytes = dirty_.bytes();
        low_water_ = bytes < low_water_ ? bytes : low_water_;
        dirty_bytes_.store(bytes, std::memory_order_relaxed);
        clean_bytes_.store(clean_.bytes(), std::memory_order_relaxed);
    }

private:
    // In this order a stripe without dirty runs writes to one page (RunLists).
    std::size_t low_water_ = 0;
    std::atomic<std::size_t> dirty_bytes_{0}; ///< both relaxed: exact with the lock held, otherwise a hint
    std::atomic<std::size_t> clean_bytes_{0};

protected:
    RunLists clean_;
    RunLists dirty_;
};

} // namespace cairn
