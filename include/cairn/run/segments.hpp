// SPDX-License-Identifier: MIT
//
// Segments: the windows that a run heap has taken from the address space.
//
// Adds:    growth of a segment that has room, the newest first, or by a new one; iteration; unmapping of their ends.
// Needs:   AddressSpace.
// Keeps:   a segment is never removed, only shortened: iteration needs no lock. The last slot of a window is unused.
// Threads: the caller of `grow` holds a lock; any thread may iterate.
// Errors:  nullptr when the operating system refuses.
// Cost:    a system call, and a visit of each segment that has room; one call more for each of the first 128 guards.
// Source:  LKmalloc, section 6, G (stripes).
#pragma once

#include <cairn/run/window_parts.hpp>

#include <algorithm>

namespace cairn {

class Segments {
public:
    constexpr Segments() = default;

    /// Where new slots may come from: segments that have room, new windows, or both.
    enum class From : unsigned char { segments, windows, both };

    /// A new clean run of the stripe. Joined with the clean slots in front of it, it has room for `slots` at a multiple
    /// of `alignment` slots. The caller holds the stripe's lock. `most`: AddressSpace::step().
    OwnerLine *grow(AddressSpace &space, unsigned slots, unsigned alignment, unsigned stripe, From from,
                    std::size_t most) {
        if (align_up(metadata_slots, alignment) + slots > end_of_slots) {
            return nullptr;
        }
        const unsigned least = std::min(slots + alignment - 1, end_of_slots - metadata_slots);
        const unsigned wanted = std::max(window_parts::step(space, most), least);
        unsigned refused[2] = {slots_per_segment, slots_per_segment}; // by the kernel: mapped, or allowed
        for (Segment **link = &to_grow_; from != From::windows && *link != nullptr;) {
            Segment &segment = **link;
            if (segment.stripe == stripe) { // the locks of other stripes are not held
                const unsigned clean = segment.clean_end();
                const unsigned needed = least > clean ? least - clean : 1;
                unsigned &too_many = refused[segment.is_reserved];
                const bool may = needed < too_many && needed <= window_parts::room_in(segment);
                if (const unsigned more = may ? window_parts::lengthen(space, segment, needed, wanted) : 0;
                    more != 0) {
                    return added(segment, more);
                }
                if (may && window_parts::room_in(segment) != 0) { // refused; no mapping is in the way
                    too_many = needed;
                }
            }
            segment.may_grow = window_parts::room_in(segment) != 0;
            if (segment.may_grow) {
                link = &segment.next_to_grow;
            } else {
                *link = segment.next_to_grow;
            }
        }
        return from != From::segments
                   ? new_segment(space, metadata_slots + least, wanted, stripe, window_parts::reserves(most))
                   : nullptr;
    }

    /// At least `least` new clean slots at the end of one segment; nullptr if it cannot grow by as many.
    OwnerLine *lengthen(AddressSpace &space, Segment &segment, unsigned least) {
        const unsigned step = window_parts::step(space, AddressSpace::step());
        const unsigned more = window_parts::lengthen(space, segment, least, std::max(step, least));
        return more != 0 ? added(segment, more) : nullptr;
    }

    /// Unmaps `slots` clean free slots at the end of a segment. Returns the bytes; 0 if the kernel refuses.
    std::size_t cut(AddressSpace &space, Segment &segment, unsigned slots) {
        const std::size_t bytes = window_parts::cut(space, segment, slots);
        bytes_ -= bytes != 0 ? slots * slot_size : 0;
        list_to_grow(segment);
        return bytes;
    }

    /// Lets a segment try again to grow: the mapping behind it may be gone.
    void try_again(Segment &segment) {
        segment.most_slots = end_of_slots;
        list_to_grow(segment);
    }

    /// In the child of a fork: another thread of the parent may have been changing the list or the sums.
    void repair_after_fork() {
        to_grow_ = nullptr;
        bytes_ = overhead_ = 0;
        for_each([this](Segment &segment) {
            segment.may_grow = false;
            list_to_grow(segment);
            bytes_ += (segment.mapped_slots - metadata_slots) * slot_size;
            overhead_ += (metadata_slots + segment.has_guard) * slot_size;
        });
    }

    /// Calls f(segment) for every segment; a segment that is added meanwhile may be missed.
    template <class F>
    void for_each(F &&f) const {
        // acquire: pairs with the release of add_segment.
        for (Segment *s = newest_.load(std::memory_order_acquire); s != nullptr; s = s->next) {
            f(*s);
        }
    }

    /// Bytes of the slots for blocks.
    std::size_t bytes() const { return bytes_; }

    /// Bytes of all other slots: metadata and guards.
    std::size_t overhead() const { return overhead_; }

private:
    void list_to_grow(Segment &segment) {
        if (!segment.may_grow && window_parts::room_in(segment) != 0) {
            segment.may_grow = true;
            segment.next_to_grow = to_grow_;
            to_grow_ = &segment;
        }
    }

    /// A new segment of `wanted` slots, or fewer if the kernel refuses, but at least `least`.
    OwnerLine *new_segment(AddressSpace &space, unsigned least, unsigned wanted, unsigned stripe,
                           bool reserves) {
        wanted = std::max(wanted, least);
        Segment *segment =
            reserves && wanted < end_of_slots ? window_parts::reserve(space, least, wanted) : nullptr;
        const bool is_reserved = segment != nullptr;
        if (!is_reserved) {
            segment = window_parts::take(space, least, wanted);
        }
        if (segment == nullptr) {
            return nullptr;
        }
        if (wanted == slots_per_segment) {
            guard(*segment);
            --wanted;
        }
        segment->is_reserved = is_reserved;
        return add_segment(segment, wanted, stripe);
    }

    OwnerLine *add_segment(Segment *segment, unsigned slots, unsigned stripe) {
        segment->stripe = stripe;
        segment->mapped_slots = slots;
        segment->most_slots = end_of_slots;
        segment->set_kinds(0, metadata_slots, SlotKind::metadata);
        segment->next = newest_.load(std::memory_order_relaxed); // relaxed: under the lock
        WindowRow::add(segment);
        overhead_ += metadata_slots * slot_size;
        // release: pairs with the acquire of for_each.
        newest_.store(segment, std::memory_order_release);
        list_to_grow(*segment);
        return added(*segment, slots - metadata_slots);
    }

    /// Sets the last slot of a window aside as a guard. Only the first windows make it inaccessible: this splits a
    /// mapping, and the number of mappings of a process is limited. In later windows the slot is merely unused.
    void guard(Segment &segment) {
        overhead_ += slot_size;
        window_parts::guard(segment, /*forbid=*/guards_++ < most_guards_);
    }

    /// Makes the last `count` slots, which are new, a run.
    OwnerLine *added(Segment &segment, unsigned count) {
        OwnerLine *const first = &segment.owner_lines[segment.mapped_slots - count];
        first->slots = static_cast<std::uint16_t>(count);
        bytes_ += count * slot_size;
        return first;
    }

    std::atomic<Segment *> newest_{nullptr};
    static constexpr unsigned most_guards_ = 128; // two mappings each

    std::size_t bytes_ = 0;
    std::size_t overhead_ = 0;
    unsigned guards_ = 0;
    Segment *to_grow_ = nullptr; ///< list of the segments that are not mapped to their end
};

} // namespace cairn
