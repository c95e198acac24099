// SPDX-License-Identifier: MIT
//
// Statistics: the figures of an allocator as plain numbers.
//
// Adds:    a record that heaps fill in and that reports (text, JSON, mallinfo) read.
// Units:   bytes unless the comment says otherwise. A field that a heap does not keep is 0.
// Threads: a value. When it is filled in while other threads run, each field is consistent in itself; several fields
//          together need not be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn {

/// The largest number of size classes that any generator of the kit makes.
inline constexpr std::size_t max_size_classes = 128;

struct SizeClassStatistics {
    std::uint32_t block_size = 0;  ///< bytes of one block
    std::uint32_t superblocks = 0; ///< superblocks formatted for the class
    std::uint64_t live_blocks = 0; ///< live blocks
    std::uint64_t free_blocks = 0; ///< blocks that are carved and free
};

struct Statistics {
    // Small and medium blocks (superblocks)
    std::uint64_t small_live = 0;     ///< bytes of live blocks, each rounded up to its size class; exact
    std::uint64_t small_resident = 0; ///< bytes of superblocks that were touched
    std::uint64_t superblocks = 0;    ///< count
    std::uint64_t heaps = 0;          ///< thread heaps in use now, count
    std::uint64_t heaps_peak = 0;     ///< the largest number of thread heaps in use at one time

    // Large blocks (runs) and huge blocks (mappings)
    std::uint64_t large_live = 0;        ///< bytes of live large blocks, each rounded up to 64 KiB slots
    std::uint64_t large_live_blocks = 0; ///< count
    std::uint64_t huge_live = 0;         ///< bytes of live huge blocks
    std::uint64_t huge_live_blocks = 0;  ///< count

    // Memory taken from the operating system
    std::uint64_t free_dirty = 0;  ///< bytes of free runs that are (or may be) resident
    std::uint64_t free_clean = 0;  ///< bytes of free runs that are not resident
    std::uint64_t mapped = 0;      ///< address space taken from the operating system
    std::uint64_t mapped_peak = 0; ///< the largest value of `mapped`
    std::uint64_t metadata = 0;    ///< resident bytes of descriptors and heaps (an upper bound)
    std::uint64_t purged = 0;      ///< bytes given back to the operating system since the start
    std::uint64_t purges = 0;      ///< system calls that gave them back, count

    // Movements of superblocks since the start, counts
    std::uint64_t superblocks_to_global = 0;   ///< from a thread heap to the global heap
    std::uint64_t superblocks_from_global = 0; ///< from the global heap to a thread heap
    std::uint64_t superblocks_fresh = 0;       ///< formatted from free runs

    std::uint32_t size_classes = 0; ///< number of entries used in `by_class`
    SizeClassStatistics by_class[max_size_classes] = {};

    /// Bytes of all live blocks.
    constexpr std::uint64_t live() const { return small_live + large_live + huge_live; }
};

} // namespace cairn
