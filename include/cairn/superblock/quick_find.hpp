// SPDX-License-Identifier: MIT
//
// Quick find: the superblock of nearly every block that a program hands back.
//
// Adds:    quick_find, which answers for live blocks and for nothing else; not for one in 2^32, nor for those of a heap of one's own
//          (cairn_heap). The same for large blocks.
// Needs:   WindowRow, WindowMap, Segment, and the superblock's descriptors; never touches what a wild pointer points to.
// Keeps:   no answer for what is not the start of a live block: what that is, and whether it is a mistake, find() and check_live()
//          know (block_check.hpp).
// Threads: any.
// Cost:    some 30 instructions, and one line beside the block.
#pragma once

#include <cairn/run/window_row.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// What is set in SharedLine::owner where that is not a thread's heap. One bit of it alone: Notices::hidden.
inline constexpr std::uintptr_t no_thread_heap = 3;

/// Whether a superblock lies at the slot that an address of a segment's lies in. relaxed (kind): in the history of a pointer to a
/// live block.
CAIRN_INLINE bool has_superblock_at(std::uintptr_t address) {
    const SlotKind kind = Segment::of(address)->kind(Segment::slot_of(address));
    return kind == SlotKind::superblock || kind == SlotKind::tail;
}

/// quick_find, of an address of a segment's, whose slot has the line `shared`.
CAIRN_INLINE OwnerLine *quick_find_at(SharedLine *shared, std::uintptr_t block) {
    // relaxed: whoever it is. That the slot is a superblock's stands in the history of a pointer to a live block.
    const void *const owner = shared->owner.load(std::memory_order_relaxed);
    const bool is_there =
        owner != nullptr ? (address_of(owner) & no_thread_heap) != no_thread_heap : has_superblock_at(block);
    return CAIRN_LIKELY(is_there && is_block_start(shared, block - shared->first_block) &&
                        !may_be_free(block, shared))
               ? owner_line_of(first_line(shared))
               : nullptr;
}

/// The superblock of a live block, if that is in a thread's heap, or in none; else nullptr.
CAIRN_INLINE OwnerLine *quick_find(std::uintptr_t block) {
    return CAIRN_LIKELY(in_segment(block)) ? quick_find_at(shared_line_at(block), block) : nullptr;
}

/// The first line of the large block, if it is a live one; else nullptr. `shared`: as before.
CAIRN_INLINE OwnerLine *quick_find_large(SharedLine *shared, std::uintptr_t block) {
    // relaxed: as above
    const bool is_live = Segment::of(block)->kind(Segment::slot_of(block)) == SlotKind::large &&
                         shared->starts_below.load(std::memory_order_relaxed) == Segment::live &&
                         shared->first_block == block;
    return CAIRN_LIKELY(is_live) ? owner_line_of(shared) : nullptr;
}

} // namespace cairn::superblock
