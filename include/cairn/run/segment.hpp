// SPDX-License-Identifier: MIT
//
// Segment: a window of 32 MiB of address space with 512 slots of 64 KiB. The first four slots hold the descriptors of
// all slots. Once a window is known to be a segment, an address leads to its descriptor by arithmetic, without a
// load. The last slot is unused, so that a write that runs on behind the last block does not reach the descriptors of
// the next window.
//
// Adds:    the geometry, and functions from slots and addresses to descriptor lines and back.
// Needs:   a window from AddressSpace, whose first slots are zeroed.
// Keeps:   kinds[] says what each slot is. So a free of any pointer into the window is either right or ends the
//          program.
// Threads: kinds[] is read by any thread without a lock. It is written by the thread that holds the slot: under the
//          stripe's lock, or as the owner of the run.
// Cost:    five slots of 512, of which only the touched pages are resident.
// Source:  4 MB stripes with a table (LKmalloc, section 6, G); metadata apart from the blocks (Wen and Deng, section
//          3.2.2).
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/run/descriptor.hpp>

namespace cairn {

inline constexpr std::size_t window_size = 32_MiB;
inline constexpr std::size_t slot_size = 64_KiB;
inline constexpr unsigned slots_per_segment = window_size / slot_size;
inline constexpr unsigned metadata_slots = 4;
inline constexpr unsigned end_of_slots = slots_per_segment - 1; ///< the guard slot, behind those with runs

enum class SlotKind : std::uint8_t {
    unmapped = 0, ///< not (yet) taken from the operating system
    metadata,     ///< the segment's own first slots
    free_clean,   ///< in a free run with no memory behind it: reads as zero
    free_dirty,   ///< in a free run that may be resident
    taken,        ///< between states: being purged, or just allocated
    superblock,   ///< first slot of a superblock
    tail,         ///< a further slot of a superblock
    large,      ///< first slot of a large block, or of a freed one that is kept for the thread that freed it
    large_tail, ///< a further slot of a large block
};

struct Segment {
    OwnerLine owner_lines[slots_per_segment];
    SharedLine shared_lines[slots_per_segment];
    RemoteLine remote_lines[slots_per_segment];
    std::atomic<SlotKind> kinds[slots_per_segment];
    Segment *next;         ///< in the list of all segments of a run heap
    unsigned mapped_slots; ///< slots from the start that are mapped
    unsigned most_slots; ///< slots that may be mapped: end_of_slots, unless a foreign mapping lies before it
    bool is_reserved;    ///< the whole window is reserved: no foreign mapping lies in it
    bool may_grow;       ///< it is in the list linked by next_to_grow
    bool has_guard;      ///< its last slot is mapped too
    Segment *next_to_grow;
    unsigned stripe; ///< the stripe that has its free runs (RunStripes); it never changes

    static Segment *of(std::uintptr_t address) {
        return reinterpret_cast<Segment *>(align_down(address, window_size));
    }
    static Segment *of(const OwnerLine *line) { return of(address_of(line)); }

    static unsigned slot_of(std::uintptr_t address) {
        return static_cast<unsigned>(address / slot_size % slots_per_segment);
    }
    unsigned slot_of(const OwnerLine *line) const { return static_cast<unsigned>(line - owner_lines); }

    std::uintptr_t address_of_slot(unsigned slot) const { return address_of(this) + slot * slot_size; }

    // relaxed, load and store: a thread that frees a block has the stores for its slots in the pointer's history; a
    // thread that looks for free runs holds the lock; for any other pointer any value will do.
    SlotKind kind(unsigned slot) const { return kinds[slot].load(std::memory_order_relaxed); }
    /// The state of the block of a `large` slot, in SharedLine::starts_below. hidden: live, but a cairn_heap's, not
    /// malloc's.
    enum LargeBlock : std::uint64_t { dead, live, hidden };
    // relaxed: the state of a live block is in its pointer's history.
    std::uint64_t large_block(unsigned slot) const {
        return shared_lines[slot].starts_below.load(std::memory_order_relaxed);
    }
    void set_large_block(unsigned slot, LargeBlock state) {
        shared_lines[slot].starts_below.store(state, std::memory_order_relaxed);
    }

    /// Slots of the clean free run at the end of the segment, 0 where there is none. Under the stripe's lock.
    unsigned clean_end() const {
        return kind(mapped_slots - 1) == SlotKind::free_clean ? owner_lines[mapped_slots - 1].slots : 0;
    }

    /// Sets the kinds of `count` slots from number `slot` on. The first slot's is stored last: from it the child of a
    /// fork knows whether the others were stored.
    void set_kinds(unsigned slot, unsigned count, SlotKind kind) {
        for (unsigned i = slot + count; i-- > slot;) {
            kinds[i].store(kind, std::memory_order_relaxed);
        }
    }
};
static_assert(sizeof(Segment) <= metadata_slots * slot_size);
static_assert(offsetof(Segment, shared_lines) == slots_per_segment * platform::line_pair);
static_assert(offsetof(Segment, remote_lines) == 2 * offsetof(Segment, shared_lines));

/// The distance of a slot's lines from each other.
inline constexpr std::size_t shared_line_offset = slots_per_segment * platform::line_pair;

inline SharedLine *shared_of(OwnerLine *line) {
    return reinterpret_cast<SharedLine *>(reinterpret_cast<char *>(line) + shared_line_offset);
}
inline const SharedLine *shared_of(const OwnerLine *line) {
    return reinterpret_cast<const SharedLine *>(reinterpret_cast<const char *>(line) + shared_line_offset);
}
inline RemoteLine *remote_of(const OwnerLine *line) {
    return reinterpret_cast<RemoteLine *>(address_of(line) + 2 * shared_line_offset);
}
inline OwnerLine *owner_line_of(const SharedLine *line) {
    return reinterpret_cast<OwnerLine *>(address_of(line) - shared_line_offset);
}
/// The line of the slot that an address lies in. `low`: any number with the address's lower bits.
inline OwnerLine *owner_line_at(std::uintptr_t address, std::uintptr_t low) {
    constexpr std::size_t scale = slot_size / platform::line_pair;
    constexpr std::uintptr_t mask = (slots_per_segment - 1) * platform::line_pair;
    return reinterpret_cast<OwnerLine *>(align_down(address, window_size) | (low / scale & mask));
}
inline SharedLine *shared_line_at(std::uintptr_t address) {
    return shared_of(owner_line_at(address, address));
}
/// The line of the first slot of the superblock that the slot of `line` belongs to. For a slot that belongs to none:
/// the line of some slot of the segment.
inline SharedLine *first_line(SharedLine *line) {
    return line - line->slots_before.load(std::memory_order_relaxed);
}
inline SharedLine *first_line_at(std::uintptr_t address) {
    return first_line(shared_line_at(address));
}
/// Where the slot of `line` begins.
inline std::uintptr_t memory_of(const OwnerLine *line) {
    const Segment *segment = Segment::of(line);
    return segment->address_of_slot(segment->slot_of(line));
}
/// Bytes to leave free before the first block of a run at `slot`: one of `lines` cache lines, by multiplicative
/// hashing (Knuth, The Art of Computer Programming, section 6.4). This is cache colouring. The factor was searched
/// for: for `lines` neighbouring runs of up to 32 slots each, it uses half of the lines at least; the golden ratio's,
/// for runs 8 slots apart, uses 0.42 of them.
constexpr std::size_t spread_at(unsigned slot, std::size_t lines) {
    return (std::uint64_t{slot * 0x83742e05u} * lines >> 32) * platform::cache_line;
}
/// The address of the first block of a superblock, or of a large block.
inline std::uintptr_t blocks_of(const OwnerLine *line) {
    return shared_of(line)->first_block;
}
/// Bytes from the start of the run to its first block.
inline std::size_t shift_of(const OwnerLine *line) {
    return blocks_of(line) % slot_size;
}
/// Bytes of the run.
inline std::size_t span_of(const OwnerLine *line) {
    return line->slots * slot_size;
}

/// Sets the owner of a superblock, in the lines of all its slots. release: pairs with the owner's load before it uses
/// the superblock, which a visiting thread may have used before.
inline void set_owner(OwnerLine *line, void *owner) {
    for (unsigned i = 0; i < line->slots; ++i) {
        shared_of(line)[i].owner.store(owner, std::memory_order_release);
    }
}

} // namespace cairn
