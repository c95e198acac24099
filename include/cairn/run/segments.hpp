// SPDX-License-Identifier: MIT
//
// Segments: the windows that a run heap has taken from the address space, and how it gets more of it.
//
// Adds:    growth by the rest of a segment, the newest first, else by a new one; a walk over all; cutting off their ends.
// Needs:   AddressSpace.
// Keeps:   no segment is ever taken away, only shortened, so a walk needs no lock. The last slot of a window is never handed
//          out.
// Threads: the caller of `grow` holds a lock; the walk any.
// Errors:  nullptr when the operating system has no more.
// Cost:    a system call for 32 MiB of address space at a time, less where it is limited; one more for the guard of each
//          of the first 128 windows.
// Source:  LKmalloc, section 3.4 (stripes).
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/segment.hpp>

namespace cairn {

class Segments {
public:
    explicit constexpr Segments(void *allocator) : allocator_(allocator) {}

    /// A new clean run of the stripe that has room for `slots` at a multiple of `alignment` slots, once it is joined with
    /// what is free in front of it.
    OwnerLine *grow(AddressSpace &space, unsigned slots, unsigned alignment, unsigned stripe) {
        const auto step = static_cast<unsigned>(AddressSpace::step() / slot_size);
        const unsigned least = slots + alignment;
        const unsigned wanted = step < least ? least : step;
        for (Segment *s = newest_.load(std::memory_order_relaxed); s != nullptr; // relaxed: under the lock
             s = were_cut_ ? s->next : nullptr) {
            OwnerLine *const more = s->stripe == stripe ? lengthen(*s, space, least, wanted) : nullptr;
            if (more != nullptr) {
                return more;
            }
        }
        return new_segment(space, metadata_slots + least, wanted, stripe);
    }

    /// Unmaps so many slots, free and clean, at the end of a segment, which may grow there later. Bytes.
    std::size_t cut(AddressSpace &space, Segment &segment, unsigned slots) {
        were_cut_ = true;
        segment.most_slots = end_of_slots; // who lay there may be gone
        segment.mapped_slots -= slots;
        segment.set_kinds(segment.mapped_slots, slots, SlotKind::unmapped);
        bytes_ -= slots * slot_size;
        if (slots != 0) {
            space.give_back(reinterpret_cast<void *>(segment.address_of_slot(segment.mapped_slots)),
                            slots * slot_size);
        }
        return slots * slot_size;
    }

    /// Calls f(segment) for every segment; new ones come in front.
    template <class F>
    void for_each(F &&f) const {
        // acquire: pairs with the release of add_segment.
        for (Segment *s = newest_.load(std::memory_order_acquire); s != nullptr; s = s->next) {
            f(*s);
        }
    }

    /// Slots for blocks, in bytes.
    std::size_t bytes() const { return bytes_; }

    /// What they have besides: metadata, and the slot at the end.
    std::size_t overhead() const { return overhead_; }

private:
    /// By `wanted` slots, or as near to it as can be had, but not by less than `least`.
    OwnerLine *lengthen(Segment &segment, AddressSpace &space, unsigned least, unsigned wanted) {
        const unsigned room = segment.most_slots - segment.mapped_slots;
        if (room < least) {
            return nullptr;
        }
        void *const end = reinterpret_cast<void *>(segment.address_of_slot(segment.mapped_slots));
        for (unsigned n = wanted < room ? wanted : room;; n = n / 2 < least ? least : n / 2) {
            bool taken = false;
            if (space.extend(end, n * slot_size, &taken)) {
                return add_slots(segment, n);
            }
            if (taken) {
                segment.most_slots = segment.mapped_slots;
            }
            if (taken || n == least) {
                return nullptr;
            }
        }
    }

    /// A segment of `wanted` slots, or as near to it as can be had, but not below `least`.
    OwnerLine *new_segment(AddressSpace &space, unsigned least, unsigned wanted, unsigned stripe) {
        least = least > end_of_slots ? end_of_slots : least;
        for (unsigned n = wanted < least ? least : wanted;; n = n / 2 < least ? least : n / 2) {
            if (void *const window = space.take(n * slot_size, /*dense=*/false)) {
                if (n == slots_per_segment) {
                    guard(*static_cast<Segment *>(window));
                    --n;
                }
                return add_segment(static_cast<Segment *>(window), n, stripe);
            }
            if (n == least) {
                return nullptr;
            }
        }
    }

    OwnerLine *add_segment(Segment *segment, unsigned slots, unsigned stripe) {
        segment->stripe = stripe;
        segment->allocator = allocator_;
        segment->mapped_slots = metadata_slots;
        segment->most_slots = end_of_slots;
        segment->set_kinds(0, metadata_slots, SlotKind::metadata);
        segment->next = newest_.load(std::memory_order_relaxed); // relaxed: under the lock
        WindowMap::set(segment, WindowKind::segment);
        overhead_ += (metadata_slots + 1) * slot_size;
        // release: pairs with the acquire of for_each.
        newest_.store(segment, std::memory_order_release);
        return add_slots(*segment, slots - metadata_slots);
    }

    /// The slot behind those that serve: what runs on into it ends there. The kernel's number of mappings is limited, so
    /// later windows have one that is merely not used, and are one mapping with their neighbours.
    void guard(Segment &segment) {
        if (guards_ < most_guards_) {
            ++guards_;
            platform::vm::forbid(reinterpret_cast<void *>(segment.address_of_slot(end_of_slots)), slot_size);
        }
    }

    OwnerLine *add_slots(Segment &segment, unsigned count) {
        OwnerLine *const first = &segment.owner_lines[segment.mapped_slots];
        first->slots = static_cast<std::uint16_t>(count);
        segment.mapped_slots += count;
        bytes_ += count * slot_size;
        return first;
    }

    std::atomic<Segment *> newest_{nullptr};
    static constexpr unsigned most_guards_ = 128; // two mappings each

    std::size_t bytes_ = 0;
    std::size_t overhead_ = 0;
    unsigned guards_ = 0;
    bool were_cut_ = false;
    void *const allocator_;
};

} // namespace cairn
