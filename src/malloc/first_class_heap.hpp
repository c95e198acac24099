// SPDX-License-Identifier: MIT
//
// First-class heap: what one cairn_heap owns, superblocks for its small blocks and a table of its large and huge ones.
//
// Adds:    allocate, deallocate, clear; the heap's part in statistics.
// Needs:   the process heap's superblock maker, and its large and huge blocks.
// Keeps:   a superblock belongs to the heap until it has no live block; then any class of any heap can use it. Its slot
//          kinds are those of the inside of a large block: so free() of a block of a first-class heap ends the program
//          with one line, and the repair of the process heap after a fork leaves the superblock alone. The large and
//          huge blocks are hidden from free().
// Threads: the caller holds `lock`. With it held, no function is called that could wait for a thread that forks.
// Errors:  nullptr when out of memory; deallocate() of what is no live block of this heap ends the program.
// Cost:    7.5 KiB for a heap without blocks.
// Source:  heaps that are deleted as a whole: Heap Layers, sections 1 (regions) and 5.2 (obstacks).
#pragma once

#include "large_block_table.hpp"

namespace cairn::process_heap {

struct FirstClassHeap {
    using Classes = Heap::SizeClasses;
    static constexpr unsigned node_class = Classes::class_of(sizeof(LargeBlock));
    static constexpr std::uint64_t alive = 0x6361'6972'6e2d'6870;

    std::uint64_t magic = alive; ///< something else: the heap was destroyed, or the pointer is not to a heap
    sync::Lock lock{sync::Rank::registry};
    FirstClassHeap *next = nullptr; ///< in the list of all heaps
    FirstClassHeap *previous = nullptr;
    OwnerLine *current[Classes::count] = {};        ///< the superblock that a class allocates from
    std::uint32_t live[Classes::count] = {};        ///< live blocks of a class, including nodes
    std::uint32_t superblocks[Classes::count] = {}; ///< superblocks of a class
    std::uint64_t touched = 0;                      ///< touched bytes of its superblocks
    Places<Classes::count> places;                  ///< the superblocks that are not current
    LargeBlockTable large_blocks;                   ///< large and huge blocks

    void *allocate(std::size_t size, std::size_t alignment);
    void deallocate(void *p);
    void clear(); ///< frees all blocks

    void add_to(Statistics &out) const;
    std::size_t untouched() const; ///< the bytes of its superblocks that nothing has touched yet

    static SuperblockMaker<Classes> &maker() { return heap.levels().global().maker(); }

private:
    void *owner_tag() const;
    OwnerLine *make_superblock(unsigned c);
    bool carve(OwnerLine *s);
    void give_back(OwnerLine *s);
    OwnerLine *superblock_of(const void *p) const;
    void relink(OwnerLine *s);

    void *allocate_small(unsigned c);
    void deallocate_small(OwnerLine *s, void *p);
    void *allocate_large(std::size_t size, std::size_t alignment);
    void deallocate_large(void *p);
};

} // namespace cairn::process_heap
