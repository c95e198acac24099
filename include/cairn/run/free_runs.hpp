// SPDX-License-Identifier: MIT
//
// Free runs: the free slots of a stripe's segments, in runs, dirty ones apart from clean ones.
//
// Adds:    take (best fit, of either kind), put with coalescing, growing and shortening of a run that is in use.
// Needs:   RunLists; the segments' kinds.
// Keeps:   a slot is in exactly one run; no two neighbouring free runs are of a kind (dirty: may be resident; clean: reads as zero).
// Threads: the caller holds a lock; `dirty_bytes` and `clean_bytes` any.
// Cost:    a bitmap search; at most two merges.
// Source:  LKmalloc, section 3.3 (immediate coalescing by boundary tags); Wen and Deng, section 2.3 (best fit).
#pragma once

#include <cairn/run/run_lists.hpp>

namespace cairn {

/// A run that was just taken: its slots are `taken` until the caller says what they are.
struct Run {
    OwnerLine *first = nullptr;
    bool clean = false; ///< the memory reads as zero
};

class FreeRuns {
public:
    constexpr FreeRuns() = default;

    Run take(unsigned slots, unsigned alignment, SlotKind kind) {
        OwnerLine *whole = nullptr;
        OwnerLine *const piece = lists(kind).best_fit(slots, alignment, whole);
        if (piece == nullptr) {
            return {};
        }
        cut(whole, piece, slots, kind);
        return {piece, kind == SlotKind::free_clean};
    }

    /// Whether a dirty one is long enough.
    bool has_dirty(unsigned slots, unsigned alignment) {
        OwnerLine *whole = nullptr;
        return dirty_.best_fit(slots, alignment, whole) != nullptr;
    }

    /// Puts a run among the free ones of its kind, joined with its free neighbours of the same kind.
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
            const unsigned length = first[-1].slots; // the boundary tag of the run before
            first -= length;
            lists(kind).remove(first);
            count += length;
        }
        first->slots = static_cast<std::uint16_t>(count);
        lists(kind).insert(first);
        publish();
    }

    /// Lengthens a run to `slots` with the free run behind it. What kind that was; `unmapped`, and nothing has
    /// changed, where there is none.
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

    /// Cuts the end off a run and frees it.
    void shorten(OwnerLine *first, unsigned slots) {
        OwnerLine *const tail = first + slots;
        tail->slots = static_cast<std::uint16_t>(first->slots - slots);
        first->slots = static_cast<std::uint16_t>(slots);
        put(tail, false);
    }

    /// The longest dirty run, taken for purging; nullptr when there is none. Goes back through put().
    OwnerLine *take_longest_dirty() {
        OwnerLine *const run = dirty_.longest();
        if (run != nullptr) {
            dirty_.remove(run);
            Segment *const segment = Segment::of(run);
            segment->set_kinds(segment->slot_of(run), run->slots, SlotKind::taken);
            publish();
        }
        return run;
    }

    std::size_t clean_bytes() const { return clean_bytes_.load(std::memory_order_relaxed); }
    std::size_t dirty_bytes() const { return dirty_bytes_.load(std::memory_order_relaxed); }

    /// The least that was dirty since the last call: memory that nobody needed in all that time.
    std::size_t exchange_low_water() {
        const std::size_t low = low_water_;
        low_water_ = dirty_bytes();
        return low;
    }

    /// Makes the lists anew from what slots say: in the child of a fork, without those who had `taken` runs or were freeing some.
    void clear() {
        dirty_ = RunLists{};
        clean_ = RunLists{};
        publish();
    }
    void find_in(Segment &segment) {
        for (unsigned slot = metadata_slots; slot < segment.mapped_slots; ++slot) {
            if (segment.kind(slot) == SlotKind::large && !segment.is_live(slot)) {
                segment.set_kinds(slot, segment.owner_lines[slot].slots, SlotKind::free_dirty);
            } else if (segment.kind(slot) == SlotKind::taken) {
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

private:
    RunLists &lists(SlotKind kind) { return kind == SlotKind::free_clean ? clean_ : dirty_; }

    /// Takes [piece, piece + slots) out of the free run `whole`; what is left on either side stays free.
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

    void publish() {
        const std::size_t bytes = dirty_.bytes();
        low_water_ = bytes < low_water_ ? bytes : low_water_;
        dirty_bytes_.store(bytes, std::memory_order_relaxed);
        clean_bytes_.store(clean_.bytes(), std::memory_order_relaxed);
    }

    RunLists dirty_;
    RunLists clean_;
    std::size_t low_water_ = 0;
    std::atomic<std::size_t> dirty_bytes_{0}; ///< relaxed, both: a hint without the lock, exact under it
    std::atomic<std::size_t> clean_bytes_{0};
};

} // namespace cairn
