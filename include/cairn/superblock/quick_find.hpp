// SPDX-License-Identifier: MIT
//
// Quick find: the superblock of nearly every block that a program hands back.
//
// Adds:    quick_find, which answers for live blocks and for nothing else; not for one in 2^32, nor for those of no thread's heap behind the
//          first slot of a superblock.
// Needs:   WindowMap, Segment, and the superblock's descriptors; never touches what a wild pointer points to.
// Keeps:   no answer for what is not the start of a live block: what that is, and whether it is a mistake, find() and check_live()
//          know (block_check.hpp).
// Threads: any.
// Cost:    some 25 instructions, ten more where the superblock has several slots.
#pragma once

#include <cairn/run/window_map.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// What is set in SharedLine::owner where that is not a thread's heap. One bit of it alone: Notices::hidden.
inline constexpr std::uintptr_t no_thread_heap = 3;

/// Of what SharedLine::owner holds: that of a superblock of one slot in a thread's heap, and neither of a fenced one.
CAIRN_INLINE bool is_of_one_slot(const void *owner) {
    return owner != nullptr && address_of(owner) % 2 == 0;
}

/// Of several slots, or of a fenced heap.
inline bool is_of_several_slots(const void *owner) {
    return (address_of(owner) & no_thread_heap) == 1;
}

/// quick_find, of a block in a superblock of several slots, or in that of a fenced heap.
inline OwnerLine *quick_find_in_several(std::uintptr_t block) {
    SharedLine *const shared = first_line_at(block);
    OwnerLine *const s = owner_line_of(shared);
    // relaxed: as below. Of a live block that is in no thread's heap nothing else is asked: who gets that slot may be changing it.
    if (!is_of_several_slots(shared->owner.load(std::memory_order_relaxed))) {
        return nullptr;
    }
    const bool is_live = is_block_start(shared, offset_at(block, shared)) && !may_be_free(block, shared);
    return is_live ? s : nullptr;
}

/// Whether a superblock begins with the slot that an address of a segment's lies in. relaxed (kind): in the history of a pointer to a
/// live block.
CAIRN_INLINE bool starts_at_slot_of(std::uintptr_t address) {
    return Segment::of(address)->kind(Segment::slot_of(address)) == SlotKind::superblock;
}

/// Whether that slot is all that it takes to find a live block, `owner` being what its line holds: the superblock has one slot and is a
/// thread's, or is in no thread's heap and begins here.
CAIRN_INLINE bool is_in_first_slot(const void *owner, std::uintptr_t block) {
    return is_of_one_slot(owner) || (owner == nullptr && starts_at_slot_of(block));
}

/// quick_find, of such a block.
CAIRN_INLINE OwnerLine *find_in_one(std::uintptr_t block) {
    SharedLine *const shared = shared_line_at(block);
    return CAIRN_LIKELY(is_block_start(shared, block % slot_size) && !may_be_free(block, shared))
               ? owner_line_of(shared)
               : nullptr;
}

/// The superblock of a live block, if that is in a thread's heap, or in none and in the superblock's first slot; else nullptr.
CAIRN_INLINE OwnerLine *quick_find(std::uintptr_t block) {
    if (CAIRN_UNLIKELY(WindowMap::kind(block) != WindowKind::segment)) {
        return nullptr;
    }
    SharedLine *const shared = shared_line_at(block);
    // relaxed: whoever it is. That the slot is a superblock's stands in the history of a pointer to a live block.
    const void *const owner = shared->owner.load(std::memory_order_relaxed);
    return CAIRN_LIKELY(is_in_first_slot(owner, block)) ? find_in_one(block) : quick_find_in_several(block);
}

} // namespace cairn::superblock
