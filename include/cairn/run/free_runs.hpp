// SPDX-License-Identifier: MIT
//
// Free runs: the free slots of a stripe's segments, as dirty and clean runs.
//
// Adds:    take (best fit, of one kind), take_mixed (of both kinds), put with coalescing, growing and shortening of a
//          run in use.
// Needs:   FreePieces.
// Keeps:   a slot is in exactly one run; two adjacent free runs are never of one kind (dirty: may be resident; clean:
//          reads as zero).
// Threads: the caller holds a lock; dirty_bytes() and clean_bytes() any.
// Cost:    a bitmap search; at most two merges. take_mixed: reads the kinds of the slots around eight runs.
// Source:  LKmalloc, section 6, C (immediate coalescing by boundary tags); Wen and Deng, section 2.3 (best fit).
#pragma once

#include <cairn/run/free_pieces.hpp>
#include <cairn/run/mixed_piece.hpp>

#include <algorithm>

namespace cairn {

/// A run that was just allocated: the kind of its slots is `taken` until the caller sets it.
struct Run {
    OwnerLine *first = nullptr;
    bool clean = false; ///< the memory reads as zero
    bool grown = false; ///< at least one slot was clean
};

class FreeRuns : public FreePieces {
public:
    constexpr FreeRuns() = default;

    /// A run of `slots` free slots of one kind that starts at a multiple of `alignment` slots: best fit.
    Run take(unsigned slots, unsigned alignment, SlotKind kind) {
        OwnerLine *whole = nullptr;
        OwnerLine *const piece = lists(kind).best_fit(slots, alignment, whole);
        if (piece == nullptr) {
            return {};
        }
        cut(whole, piece, slots, kind);
        return {piece, kind == SlotKind::free_clean, kind == SlotKind::free_clean};
    }

    /// A run of dirty and clean slots, at least half of them dirty, found around one of the eight longest dirty runs.
    Run take_mixed(unsigned slots, unsigned alignment) {
        constexpr unsigned candidates = 8;
        MixedPiece best;
        Segment *segment = nullptr;
        dirty_.for_longest(candidates, [&](OwnerLine *run) {
            Segment *const here = Segment::of(run);
            const unsigned at = here->slot_of(run);
            const MixedPiece piece = MixedPiece::around(*here, at, at + run->slots, slots, alignment);
            if (piece.dirty > best.dirty) {
                best = piece;
                segment = here;
            }
        });
        if (best.dirty < slots / 2 + slots % 2) {
            return {};
        }
        OwnerLine *const piece = &segment->owner_lines[best.first];
        cut_mixed(piece, slots);
        return {piece, false, true};
    }

    /// Whether take() of dirty slots would succeed.
    bool has_dirty(unsigned slots, unsigned alignment) {
        OwnerLine *whole = nullptr;
        return dirty_.best_fit(slots, alignment, whole) != nullptr;
    }

    /// Frees a run and joins it with its free neighbours of the same kind.
    void put(OwnerLine *first, bool clean) {
        const SlotKind kind = clean ? SlotKind::free_clean : SlotKind::free_dirty;
        Segment *const segment = Segment::of(first);
        const unsigned slot = segment->slot_of(first);
        unsigned count = first->slots;
        segment->set_kinds(slot, count, kind);
        if (slot + count < segment->mapped_slots && segment->kind(slot + count) == kind) {
            OwnerLine *const behind = first + count;
            lists(kind).remove(behind);
            count += behind->slots;
        }
        if (segment->kind(slot - 1) == kind) {
            const unsigned length = first[-1].slots; // the boundary tag of the previous run
            first -= length;
            lists(kind).remove(first);
            count += length;
        }
        first->slots = static_cast<std::uint16_t>(count);
        lists(kind).insert(first);
        publish();
    }

    /// Lengthens a run in use to `slots` with the free run behind it. Returns the kind of that run; `unmapped`, and
    /// nothing has changed, when there is no free run of sufficient length.
    SlotKind extend(OwnerLine *first, unsigned slots, SlotKind kind) {
        Segment *const segment = Segment::of(first);
        const unsigned end = segment->slot_of(first) + first->slots;
        const unsigned more = slots - first->slots;
        if (end + more > segment->mapped_slots) {
            return SlotKind::unmapped;
        }
        const SlotKind behind = segment->kind(end);
        OwnerLine *const run = &segment->owner_lines[end];
        if ((behind != SlotKind::free_clean && behind != SlotKind::free_dirty) || run->slots < more) {
            return SlotKind::unmapped;
        }
        cut(run, run, more, behind);
        segment->set_kinds(end, more, kind);
        first->slots = static_cast<std::uint16_t>(slots);
        return behind;
    }

    /// Shortens a run in use to `slots` and frees its end.
    void shorten(OwnerLine *first, unsigned slots, bool clean = false) {
        OwnerLine *const tail = first + slots;
        tail->slots = static_cast<std::uint16_t>(first->slots - slots);
        first->slots = static_cast<std::uint16_t>(slots);
        put(tail, clean);
    }

    /// Takes up to `most` slots of the longest dirty run, for purging, or of the dirty run next to `beside`, a run in
    /// use, if there is one; next to a clean run if the dirty one has such a neighbour. nullptr when no run is dirty.
    /// The caller gives the run back by put().
    OwnerLine *take_longest_dirty(std::size_t most, OwnerLine *beside = nullptr) {
        OwnerLine *run = beside != nullptr ? dirty_neighbour(beside) : nullptr;
        run = run != nullptr ? run : dirty_.longest();
        if (run == nullptr) {
            return nullptr;
        }
        const Segment *const segment = Segment::of(run);
        const auto slots = static_cast<unsigned>(std::min<std::size_t>(run->slots, most));
        const bool behind_clean = segment->kind(segment->slot_of(run) - 1) == SlotKind::free_clean;
        OwnerLine *const piece = behind_clean ? run : run + (run->slots - slots);
        cut(run, piece, slots, SlotKind::free_dirty);
        return piece;
    }

    /// Takes the clean run at the end of a segment. Returns its number of slots, 0 if there is none.
    unsigned take_clean_end(Segment &segment) {
        const unsigned slots = segment.clean_end();
        if (slots != 0) {
            OwnerLine *const run = &segment.owner_lines[segment.mapped_slots - slots];
            cut(run, run, slots, SlotKind::free_clean);
        }
        return slots;
    }

    /// clear() and find_in() rebuild the lists from the slot kinds, in the child of a fork: runs that other threads of
    /// the parent had just taken, or were freeing, become free.
    void clear() {
        dirty_ = RunLists{};
        clean_ = RunLists{};
        publish();
    }
    void find_in(Segment &segment) {
        for (unsigned slot = metadata_slots; slot < segment.mapped_slots; ++slot) {
            const SlotKind kind = segment.kind(slot);
            const unsigned slots = segment.owner_lines[slot].slots;
            // put() frees the last slot first.
            if ((kind == SlotKind::large && segment.large_block(slot) == Segment::dead) ||
                (kind == SlotKind::superblock && MixedPiece::is_free(segment.kind(slot + slots - 1)))) {
                segment.set_kinds(slot, slots, SlotKind::free_dirty);
            } else if (kind == SlotKind::taken) {
                segment.set_kinds(slot, 1, SlotKind::free_dirty);
            }
        }
        for (unsigned slot = metadata_slots, end = 0; slot < segment.mapped_slots; slot = end) {
            const SlotKind kind = segment.kind(slot);
            end = slot + 1;
            if (kind == SlotKind::free_clean || kind == SlotKind::free_dirty) {
                while (end < segment.mapped_slots && segment.kind(end) == kind) {
                    ++end;
                }
                segment.owner_lines[slot].slots = static_cast<std::uint16_t>(end - slot);
                lists(kind).insert(&segment.owner_lines[slot]);
            }
        }
        publish();
    }
};

} // namespace cairn
