// SPDX-License-Identifier: MIT
//
// Block check: what kind of block a pointer is, and whether the block is live; for pointers of which quick_find.hpp
// knows nothing.
//
// Adds:    find, which says the kind of block or ends the program; find_long, for an address that is in no
//          superblock; check_live, which ends the program unless the pointer is the start of a live block.
// Needs:   WindowMap, Segment, and the superblock's descriptors. No function here reads the memory that a wild
//          pointer points to.
// Keeps:   a pointer that malloc did not return, or whose block is free already, ends the program with one line that
//          says which call got it, the address, and the size class where there is one.
// Threads: any.
// Cost:    find and check_live together: some 60 instructions.
#pragma once

#include <cairn/superblock/quick_find.hpp>

namespace cairn::superblock {

struct Found {
    enum Kind { block, large, huge } kind;
    OwnerLine *line; ///< of the superblock or large run; nullptr for a huge block
};

[[noreturn]] CAIRN_COLD inline void invalid(const char *what, const void *p, const char *why) {
    platform::fatal({"invalid pointer: ", what, " ", p, ", ", why});
}
[[noreturn]] CAIRN_COLD inline void double_free(const char *what, const void *p, std::uint64_t size) {
    platform::fatal({"double free: ", what, " ", p, ", a free block of size class ", size});
}

/// The superblock that the address lies in, or nullptr. The slots of a superblock lead to its first slot by
/// SharedLine::slots_before.
inline OwnerLine *superblock_at(std::uintptr_t address) {
    if (CAIRN_UNLIKELY(!in_segment(address))) {
        return nullptr;
    }
    Segment *const segment = Segment::of(address);
    const unsigned slot = Segment::slot_of(address);
    switch (segment->kind(slot)) {
    case SlotKind::superblock:
        return &segment->owner_lines[slot];
    case SlotKind::tail:
        return owner_line_of(first_line_at(address));
    default:
        return nullptr;
    }
}

/// The large or huge block at an address that is in no superblock. Ends the program where there is none.
inline Found find_long(const void *p, const char *what) {
    const std::uintptr_t address = address_of(p);
    const WindowKind window = WindowMap::kind(address);
    if (window == WindowKind::huge) {
        return {Found::huge, nullptr};
    }
    if (window == WindowKind::foreign) {
        invalid(what, p, "which is not in this heap");
    }
    Segment *const segment = Segment::of(address);
    const unsigned slot = Segment::slot_of(address);
    switch (segment->kind(slot)) {
    case SlotKind::large_tail:
        invalid(what, p, "which is inside a large block, not its start, or is a cairn_heap's");
    case SlotKind::large:
        if (const std::uint64_t state = segment->large_block(slot); state != Segment::dead) {
            if (address != blocks_of(&segment->owner_lines[slot])) {
                invalid(what, p, "which is inside a large block, not its start");
            }
            if (state == Segment::hidden) {
                invalid(what, p, "which is a cairn_heap's");
            }
            return {Found::large, &segment->owner_lines[slot]};
        }
        [[fallthrough]];
    case SlotKind::free_clean:
    case SlotKind::free_dirty:
    case SlotKind::taken:
        invalid(what, p, "which is in free memory: freed twice, or never allocated");
    case SlotKind::metadata:
    case SlotKind::unmapped:
    case SlotKind::superblock: // has become one after the caller looked
    case SlotKind::tail:
        break;
    }
    invalid(what, p, "where no block is");
}

/// The block that `p` points to, which may be in its middle. Ends the program where there is no block.
inline Found find(const void *p, const char *what) {
    OwnerLine *const s = superblock_at(address_of(p));
    return s != nullptr ? Found{Found::block, s} : find_long(p, what);
}

/// Whether the list of free blocks that begins with `head` holds `block`. It ends also where the list changes
/// meanwhile or is damaged.
inline bool list_holds(std::uintptr_t head, std::uintptr_t block, std::uint64_t cookie, std::size_t span,
                       unsigned capacity) {
    for (unsigned i = 0; i <= capacity && !is_end(head) && same_superblock(head, block, span); ++i) {
        if (head == block) {
            return true;
        }
        head = word_of(align_down(head, 8)) ^ cookie;
    }
    return false;
}

/// Whether the block is in the superblock's remote list or in its own. A live block's contents look like a link by
/// one chance in 2^47, so a block that looks free is looked up before the program is ended. A freed block moves from
/// the gathered chains of other threads to the remote list, and from there to the owner's list, so the lookups take
/// this order.
inline bool is_listed(const OwnerLine *s, std::uintptr_t block) {
    const SharedLine *const shared = shared_of(s);
    const std::uintptr_t memory = memory_of(s);
    const std::size_t span = shared->slots * slot_size;
    const std::uint64_t cookie = shared->key ^ memory;
    // relaxed: a block that is free for good is found in some list, and then the program ends; a live one is in none.
    const RemoteWord remote{remote_of(s)->word.load(std::memory_order_relaxed)};
    return (!remote.empty() &&
            list_holds(memory + remote.head_offset(), block, cookie, span, shared->capacity)) ||
           list_holds(s->free, block, cookie, span, shared->capacity);
}

/// Ends the program unless `p` is the start of a live block of the superblock at `s`. `others.is_gathered(s, block)`
/// says whether the block is in another thread's chain.
template <class Others>
void check_live(const OwnerLine *s, const void *p, const char *what, Others &others) {
    const SharedLine *const shared = shared_of(s);
    const std::uintptr_t block = address_of(p);
    const std::uint64_t offset = block - blocks_of(s);
    const std::size_t span = shared->slots * slot_size;
    const std::uint64_t size = shared->block_size;
    if (!is_block_start(shared, offset)) {
        const std::uint64_t number = offset / size;
        if (number * size == offset && number < shared->marked && looks_free(block, shared, span)) {
            double_free(what, p, size); // freed before its superblock was carved again
        }
        platform::fatal({"invalid pointer: ", what, " ", p,
                         ", which is not the start of a block of size class ", size,
                         " that was ever allocated"});
    }
    if (CAIRN_UNLIKELY(looks_free(block, shared, span)) &&
        (others.is_gathered(s, block) || is_listed(s, block))) {
        double_free(what, p, size);
    }
}

/// Ends the program unless `p` is the start of a live block of the superblock at `s`. For superblocks whose blocks no
/// thread gathers.
inline void check_live(const OwnerLine *s, const void *p, const char *what) {
    struct {
        bool is_gathered(const OwnerLine *, std::uintptr_t) const { return false; }
    } no_chains;
    check_live(s, p, what, no_chains);
}

} // namespace cairn::superblock
