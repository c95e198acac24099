// SPDX-License-Identifier: MIT
//
// Segment: a 32 MiB window of address space, cut into slots of 64 KiB, with the descriptors of all its slots
// in the first four. From an address to its descriptor is arithmetic: no load at all, once the window is known
// to be ours. The last slot serves nobody: who writes on behind the last block does not reach the descriptors of the
// window that follows.
//
// Adds:    the geometry, and the way between slot, address and descriptor lines.
// Needs:   a window from AddressSpace, its first slots zeroed.
// Keeps:   kinds[] says truly what each slot is; it is what makes `free` sound for any pointer into the
//          window.
// Threads: kinds[] is read by all without a lock and written by who holds the slot (the stripe's lock, or
//          the owner of the run).
// Cost:    five slots in 512, of which only the touched pages are resident.
// Source:  4 MB stripes with a table (LKmalloc, section 6, G); metadata apart (Wen and Deng, section 3.2.2).
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/run/descriptor.hpp>

namespace cairn {

inline constexpr std::size_t window_size = 32_MiB;
inline constexpr std::size_t slot_size = 64_KiB;
inline constexpr unsigned slots_per_segment = window_size / slot_size;
inline constexpr unsigned metadata_slots = 4;
inline constexpr unsigned end_of_slots = slots_per_segment - 1; ///< of those that serve; then comes the guard

enum class SlotKind : std::uint8_t {
    unmapped = 0, ///< not (yet) taken from the operating system
    metadata,     ///< the segment's own first slots
    free_clean,   ///< in a free run with no memory behind it: reads as zero
    free_dirty,   ///< in a free run that may be resident
    taken,        ///< between states: being purged, or just allocated
    superblock,   ///< first slot of a superblock
    tail,         ///< a further slot of a superblock
    large,        ///< first slot of a large block, or of what was one and is kept for who has freed it
    large_tail,   ///< a further slot of a large block
};

struct Segment {
    OwnerLine owner_lines[slots_per_segment];
    SharedLine shared_lines[slots_per_segment];
    RemoteLine remote_lines[slots_per_segment];
    std::atomic<SlotKind> kinds[slots_per_segment];
    Segment *next;         ///< all segments of one heap of runs
    unsigned mapped_slots; ///< slots from the start that are mapped
    unsigned most_slots;   ///< how many may be: end_of_slots, unless something else lies there
    bool is_reserved;      ///< nothing else does, up to the window's end
    bool may_grow;         ///< it is in the list of those
    bool has_guard;        ///< its last slot is mapped too
    Segment *next_to_grow;
    unsigned stripe; ///< whose its free runs are (RunStripes); for good
    unsigned asked;  ///< a bit for each 2 MiB: a huge page was asked for there (HugeGrowth)

    static Segment *of(std::uintptr_t address) {
        return reinterpret_cast<Segment *>(align_down(address, window_size));
    }
    static Segment *of(const OwnerLine *line) { return of(address_of(line)); }

    static unsigned slot_of(std::uintptr_t address) {
        return static_cast<unsigned>(address / slot_size % slots_per_segment);
    }
    unsigned slot_of(const OwnerLine *line) const { return static_cast<unsigned>(line - owner_lines); }

    std::uintptr_t address_of_slot(unsigned slot) const { return address_of(this) + slot * slot_size; }

    // relaxed, load and store: who frees a block has the stores of its slots in the pointer's own history; who
    // looks at free runs holds the lock; any other pointer only needs some answer.
    SlotKind kind(unsigned slot) const { return kinds[slot].load(std::memory_order_relaxed); }
    /// What SharedLine::starts_below says of the block of a `large` slot. hidden: live, but not malloc's (cairn_heap).
    enum LargeBlock : std::uint64_t { dead, live, hidden };
    // relaxed: as kind()
    std::uint64_t large_block(unsigned slot) const {
        return shared_lines[slot].starts_below.load(std::memory_order_relaxed);
    }
    void set_large_block(unsigned slot, LargeBlock state) {
        shared_lines[slot].starts_below.store(state, std::memory_order_relaxed);
    }

    /// Slots of the clean run that ends the segment. For who holds the stripe's lock.
    unsigned clean_end() const {
        return kind(mapped_slots - 1) == SlotKind::free_clean ? owner_lines[mapped_slots - 1].slots : 0;
    }

    /// The first one last: by that a fork's child knows what became of a long block.
    void set_kinds(unsigned slot, unsigned count, SlotKind kind) {
        for (unsigned i = slot + count; i-- > slot;) {
            kinds[i].store(kind, std::memory_order_relaxed);
        }
    }
};
static_assert(sizeof(Segment) <= metadata_slots * slot_size);
static_assert(offsetof(Segment, shared_lines) == slots_per_segment * platform::line_pair);
static_assert(offsetof(Segment, remote_lines) == 2 * offsetof(Segment, shared_lines));

/// The lines of a slot from each other, and the memory they describe: arithmetic only.
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
/// The lines of the slot that an address lies in. `low`: any number with the address's lower bits.
inline OwnerLine *owner_line_at(std::uintptr_t address, std::uintptr_t low) {
    constexpr std::size_t scale = slot_size / platform::line_pair;
    constexpr std::uintptr_t mask = (slots_per_segment - 1) * platform::line_pair;
    return reinterpret_cast<OwnerLine *>(align_down(address, window_size) | (low / scale & mask));
}
inline SharedLine *shared_line_at(std::uintptr_t address) {
    return shared_of(owner_line_at(address, address));
}
/// The first slot's line of the superblock that the slot of `line` is one of. Of any other slot's: that of some slot of the segment.
inline SharedLine *first_line(SharedLine *line) {
    return line - line->slots_before.load(std::memory_order_relaxed);
}
inline SharedLine *first_line_at(std::uintptr_t address) {
    return first_line(shared_line_at(address));
}
inline std::uintptr_t memory_of(const OwnerLine *line) {
    const Segment *segment = Segment::of(line);
    return segment->address_of_slot(segment->slot_of(line));
}
/// Bytes before what begins with a slot: one of so many cache lines, by multiplicative hashing (Knuth, The Art of Computer Programming,
/// section 6.4). The factor was searched for: as many runs as lines, of up to 32 slots each and one behind the other, use half of the
/// lines at least; those of the golden ratio, 8 slots apart, 0.42.
constexpr std::size_t spread_at(unsigned slot, std::size_t lines) {
    return (std::uint64_t{slot * 0x83742e05u} * lines >> 32) * platform::cache_line;
}
/// Where the first block of a superblock begins, or a long one, and how far behind the start of its slot.
inline std::uintptr_t blocks_of(const OwnerLine *line) {
    return shared_of(line)->first_block;
}
inline std::size_t shift_of(const OwnerLine *line) {
    return blocks_of(line) % slot_size;
}
inline std::size_t span_of(const OwnerLine *line) {
    return line->slots * slot_size;
}

/// Who owns a superblock from now on, in the line of each of its slots. release: pairs with the owner's load before it uses the superblock,
/// which a visitor may have used before.
inline void set_owner(OwnerLine *line, void *owner) {
    for (unsigned i = 0; i < line->slots; ++i) {
        shared_of(line)[i].owner.store(owner, std::memory_order_release);
    }
}

} // namespace cairn
