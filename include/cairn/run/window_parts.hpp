// SPDX-License-Identifier: MIT
//
// Window parts: how much of a segment's window may be used, which grows with what the process has.
//
// Adds:    a window for a new segment, use of more of it, and giving its end back.
// Needs:   AddressSpace.
// Keeps:   a small process may use little more than it needs: that is what the kernel charges (overcommit mode 2) and what a
//          process that locks its memory has resident. The rest of the window is reserved, so that nothing else is mapped there;
//          where address space is limited to less than 1 GiB it is not mapped at all.
// Threads: the caller holds a lock.
// Errors:  nullptr or 0: nothing has changed.
// Cost:    a system call for an eighth of what the process has, 2 MiB at least, 32 MiB at most.
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn::window_parts {

/// Slots to take at a time. `reserves`: in windows that are reserved.
inline unsigned step(const AddressSpace &space, bool &reserves) {
    constexpr std::size_t least = 2_MiB;
    const std::size_t most = AddressSpace::step();
    reserves = most == window_size;
    const std::size_t part =
        reserves ? std::clamp(align_down(space.mapped() / 8, slot_size), least, most) : most;
    return static_cast<unsigned>(part / slot_size);
}

/// `wanted`, or a quarter of it, and so on, `least` at the end: the first for which f(n) is true. 0: for none. In small steps a malloc
/// that is refused would take as many system calls.
template <class F>
unsigned first_of(unsigned wanted, unsigned least, F &&f) {
    for (unsigned n = wanted;; n = std::max(n / 4, least)) {
        if (f(n)) {
            return n;
        }
        if (n == least) {
            return 0;
        }
    }
}

/// A part that ends at slot `end`, or somewhat later: in the middle of a huge page it would cost that.
inline unsigned end_of_part(unsigned end) {
    constexpr unsigned huge_page = 2_MiB / slot_size;
    return static_cast<unsigned>(align_up(end, huge_page));
}

inline bool allow(AddressSpace &space, void *p, unsigned slots) {
    const bool allowed = platform::vm::allow(p, slots * slot_size);
    space.grew(allowed ? slots * slot_size : 0);
    return allowed;
}

/// A reserved window of which so many slots may be used.
inline Segment *reserve(AddressSpace &space, unsigned least, unsigned &wanted) {
    void *const window = space.reserve();
    if (window == nullptr) {
        return nullptr;
    }
    const unsigned slots = first_of(std::min(end_of_part(wanted), end_of_slots), least,
                                    [&](unsigned n) { return allow(space, window, n); });
    if (slots == 0) {
        space.unreserve(window);
        return nullptr;
    }
    wanted = slots;
    return static_cast<Segment *>(window);
}

/// The same of a window of which nothing else is mapped, or of all of it.
inline Segment *take(AddressSpace &space, unsigned least, unsigned &wanted) {
    void *window = nullptr;
    wanted = first_of(wanted, least, [&](unsigned n) {
        window = space.take_for_segment(n * slot_size);
        return window != nullptr;
    });
    return static_cast<Segment *>(window);
}

/// The slot behind those that serve: what runs on into it ends there.
inline void guard(Segment &segment, bool forbid) {
    segment.has_guard = true;
    if (forbid) {
        platform::vm::forbid(reinterpret_cast<void *>(segment.address_of_slot(end_of_slots)), slot_size);
    }
}

inline void *end_of(const Segment &segment) {
    return reinterpret_cast<void *>(segment.address_of_slot(segment.mapped_slots));
}
inline unsigned room_in(const Segment &segment) {
    return segment.most_slots - segment.mapped_slots;
}

/// Lets `wanted` slots more be used, or as near to it as can be had, but not less than `least`. How many.
inline unsigned lengthen(AddressSpace &space, Segment &segment, unsigned least, unsigned wanted) {
    const unsigned room = room_in(segment);
    if (room < least) {
        return 0;
    }
    void *const end = end_of(segment);
    bool taken = false;
    const unsigned part = end_of_part(segment.mapped_slots + wanted) - segment.mapped_slots;
    const unsigned slots = first_of(std::min(part, room), least, [&](unsigned n) {
        return !taken &&
               (segment.is_reserved ? allow(space, end, n) : space.extend(end, n * slot_size, &taken));
    });
    if (taken) {
        segment.most_slots = segment.mapped_slots;
    }
    segment.mapped_slots += slots;
    return slots;
}

/// Unmaps so many slots at the end, and what is reserved behind them. Bytes; 0 if that is none, or if the kernel refuses: a hole may
/// take a mapping more than there may be.
inline std::size_t cut(AddressSpace &space, Segment &segment, unsigned slots) {
    const unsigned before = segment.mapped_slots;
    const bool was_reserved = segment.is_reserved;
    const std::size_t bytes = (was_reserved ? slots_per_segment - before + slots : slots) * slot_size;
    if (bytes == 0) {
        return 0;
    }
    segment.is_reserved = false;
    segment.mapped_slots -= slots;
    segment.set_kinds(segment.mapped_slots, slots, SlotKind::unmapped);
    // Last: a fork's child uses nothing that is not there.
    if (!platform::vm::unmap(end_of(segment), bytes)) {
        segment.is_reserved = was_reserved;
        segment.mapped_slots = before;
        return 0;
    }
    space.shrank(slots * slot_size);
    return bytes;
}

} // namespace cairn::window_parts
