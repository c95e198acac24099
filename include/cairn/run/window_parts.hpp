// SPDX-License-Identifier: MIT
//
// Window parts: how much of a segment's window is accessible; the parts grow with the memory of the process.
//
// Adds:    a window for a new segment, access to more of it, and unmapping its end.
// Needs:   AddressSpace.
// Keeps:   in a small process little more is accessible than it needs: accessible memory is what the kernel charges for
//          (overcommit mode 2), and what is resident in a process that locks its memory. The rest of the window is
//          mapped without access, so that no other code maps memory there; where address space is limited to less than
//          1 GiB it is not mapped.
// Threads: the caller holds a lock.
// Errors:  nullptr or 0: nothing has changed.
// Cost:    a system call for an eighth of the mapped memory of the process, at least 2 MiB, at most 32 MiB.
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/segment.hpp>

#include <algorithm>

namespace cairn::window_parts {

/// Whether windows are mapped as a whole, without access. `most`, here and below: AddressSpace::step(), a system call.
inline bool reserves(std::size_t most) {
    return most == window_size;
}

/// The number of slots to take at a time.
inline unsigned step(const AddressSpace &space, std::size_t most) {
    constexpr std::size_t least = 2_MiB;
    const std::size_t part =
        reserves(most) ? std::clamp(align_down(space.mapped() / 8, slot_size), least, most) : most;
    return static_cast<unsigned>(part / slot_size);
}

/// The first n for which f(n) is true, of `wanted`, a quarter of it, a quarter of that, and at the end `least`; 0 if
/// there is none. Smaller steps would cost more system calls when the kernel refuses.
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

/// Rounds the end of a part up to the end of a huge page: a part that ends inside would prevent that huge page.
inline unsigned end_of_part(unsigned end) {
    constexpr unsigned huge_page = 2_MiB / slot_size;
    return static_cast<unsigned>(align_up(end, huge_page));
}

/// Makes slots of a window that was mapped without access accessible, and counts them as mapped.
inline bool allow(AddressSpace &space, void *p, unsigned slots) {
    const bool allowed = platform::vm::allow(p, slots * slot_size);
    space.grew(allowed ? slots * slot_size : 0);
    return allowed;
}

/// A window that is mapped as a whole, with `wanted` accessible slots, or fewer if the kernel refuses, but at least
/// `least`; `wanted` is set to the number.
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

/// A window of which only the accessible slots are mapped: `wanted`, or fewer if the kernel refuses, but at least
/// `least`; `wanted` is set to the number.
inline Segment *take(AddressSpace &space, unsigned least, unsigned &wanted) {
    void *window = nullptr;
    wanted = first_of(wanted, least, [&](unsigned n) {
        window = space.take_for_segment(n * slot_size);
        return window != nullptr;
    });
    return static_cast<Segment *>(window);
}

/// Sets the last slot of a window aside; with `forbid` an overflow into it faults.
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

/// Adds `wanted` slots to a segment, or fewer if the kernel refuses, but at least `least`. Returns how many; 0 for
/// none.
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

/// Unmaps `slots` at the end of a segment, and the inaccessible rest of the window. Returns the bytes; 0 if there are
/// none, or if the kernel refuses, because a hole in a mapping makes one more mapping and their number is limited.
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
    // Last: if a fork comes before it, the child does not use memory that may be unmapped.
    if (!platform::vm::unmap(end_of(segment), bytes)) {
        segment.is_reserved = was_reserved;
        segment.mapped_slots = before;
        return 0;
    }
    space.shrank(slots * slot_size);
    return bytes;
}

} // namespace cairn::window_parts
