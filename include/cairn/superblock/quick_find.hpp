// SPDX-License-Identifier: MIT
//
// Quick find: the superblock or large run of nearly every live block that a program hands back.
//
// Adds:    quick_find, which returns the superblock of a live block, or nullptr. nullptr also for one in 2^32 live
//          blocks and for blocks of a cairn_heap: the caller then takes the checked path. quick_find_large, for large
//          blocks.
// Needs:   WindowRow, WindowMap, Segment, and the superblock's descriptors. No function here reads the memory that a
//          wild pointer points to.
// Keeps:   the result is nullptr for every pointer that is not the start of a live block. find() and check_live()
//          (block_check.hpp) say what such a pointer is, and whether it is a mistake.
// Threads: any.
// Cost:    some 30 instructions, and one cache line beside the block's.
#pragma once

#include <cairn/run/window_row.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// The bits that are set in SharedLine::owner where the owner is no thread heap (a cairn_heap). One of them alone:
/// Notices::hidden.
inline constexpr std::uintptr_t no_thread_heap = 3;

/// Whether the slot of an address in a segment belongs to a superblock. relaxed (kind): in the history of a pointer
/// to a live block.
CAIRN_INLINE bool has_superblock_at(std::uintptr_t address) {
    const SlotKind kind = Segment::of(address)->kind(Segment::slot_of(address));
    return kind == SlotKind::superblock || kind == SlotKind::tail;
}

/// quick_find() for an address in a segment; `shared` is the line of the slot that the address lies in.
CAIRN_INLINE OwnerLine *quick_find_at(SharedLine *shared, std::uintptr_t block) {
    // relaxed: any owner will do. That the slot belongs to a superblock is in the history of a pointer to a live
    // block.
    const void *const owner = shared->owner.load(std::memory_order_relaxed);
    const bool is_there =
        owner != nullptr ? (address_of(owner) & no_thread_heap) != no_thread_heap : has_superblock_at(block);
    return CAIRN_LIKELY(is_there && is_block_start(shared, block - shared->first_block) &&
                        !may_be_free(block, shared))
               ? owner_line_of(first_line(shared))
               : nullptr;
}

/// The superblock of a live block, if it is in a thread heap or in the global heap; else nullptr.
CAIRN_INLINE OwnerLine *quick_find(std::uintptr_t block) {
    return CAIRN_LIKELY(in_segment(block)) ? quick_find_at(shared_line_at(block), block) : nullptr;
}

/// The first slot's line of a live large block; else nullptr. `shared` is the line of the slot that the address lies
/// in.
CAIRN_INLINE OwnerLine *quick_find_large(SharedLine *shared, std::uintptr_t block) {
    // relaxed: the state of a live block is in its pointer's history.
    const bool is_live = Segment::of(block)->kind(Segment::slot_of(block)) == SlotKind::large &&
                         shared->starts_below.load(std::memory_order_relaxed) == Segment::live &&
                         shared->first_block == block;
    return CAIRN_LIKELY(is_live) ? owner_line_of(shared) : nullptr;
}

} // namespace cairn::superblock
