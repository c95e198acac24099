// SPDX-License-Identifier: MIT
//
// Quick find: the superblock of nearly every block that a program hands back.
//
// Adds:    quick_find, which answers for live blocks of threads' heaps and for nothing else, but for one live block in 2^32.
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

/// quick_find, of a block in a superblock of several slots, or in that of a fenced heap.
inline OwnerLine *quick_find_in_several(std::uintptr_t block) {
    SharedLine *const shared = first_line_at(block);
    OwnerLine *const s = owner_line_of(shared);
    // relaxed: as below. Of a live block that is in no thread's heap nothing else is asked: who gets that slot may be changing it.
    const std::uintptr_t owner = address_of(shared->owner.load(std::memory_order_relaxed));
    if ((owner & no_thread_heap) != 1) {
        return nullptr;
    }
    const bool is_live = is_block_start(shared, block - memory_of(s)) && !may_be_free(block, shared);
    return is_live ? s : nullptr;
}

/// The superblock of a live block, if that is in a thread's heap; else nullptr.
CAIRN_INLINE OwnerLine *quick_find(std::uintptr_t block) {
    if (CAIRN_UNLIKELY(WindowMap::kind(block) != WindowKind::segment)) {
        return nullptr;
    }
    SharedLine *const shared = shared_line_at(block);
    // relaxed: whoever it is. That the slot is a superblock's stands in the history of a pointer to a live block.
    const std::uintptr_t owner = address_of(shared->owner.load(std::memory_order_relaxed));
    const bool is_one = owner != 0 && owner % 2 == 0;
    if (CAIRN_UNLIKELY(!is_one)) {
        return quick_find_in_several(block);
    }
    return CAIRN_LIKELY(is_block_start(shared, block % slot_size) && !may_be_free(block, shared))
               ? owner_line_of(shared)
               : nullptr;
}

} // namespace cairn::superblock
