// SPDX-License-Identifier: MIT
//
// Statistics: what an allocator can say about itself, as plain numbers.
//
// Adds:    nothing; the record that heaps fill and reports (text, JSON, mallinfo) read.
// Units:   bytes unless the name says otherwise. A field that a heap does not keep is 0.
// Threads: a value; filling it while other threads run gives a picture that is consistent per field only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn {

/// The most size classes that any generator of the kit makes.
inline constexpr std::size_t max_size_classes = 128;

struct SizeClassStatistics {
    std::uint32_t block_size = 0;  ///< bytes of one block
    std::uint32_t superblocks = 0; ///< superblocks formatted for the class
    std::uint64_t live_blocks = 0; ///< blocks that the program holds
    std::uint64_t free_blocks = 0; ///< carved, not held by the program
};

struct Statistics {
    // Small and medium blocks (superblocks)
    std::uint64_t small_live = 0;     ///< u: bytes of blocks that the program holds, rounded to size classes
    std::uint64_t small_resident = 0; ///< a: bytes of superblocks that were touched
    std::uint64_t superblocks = 0;    ///< count
    std::uint64_t heaps = 0;          ///< thread heaps in use now, count
    std::uint64_t heaps_peak = 0;     ///< the most at one time, count

    // Large (page runs) and huge (own mapping) blocks
    std::uint64_t large_live = 0;        ///< bytes of page runs that the program holds
    std::uint64_t large_live_blocks = 0; ///< count
    std::uint64_t huge_live = 0;         ///< bytes of mappings that the program holds
    std::uint64_t huge_live_blocks = 0;  ///< count

    // The border to the operating system
    std::uint64_t free_dirty = 0;  ///< free runs that are (or may be) resident
    std::uint64_t free_clean = 0;  ///< free runs without memory behind them
    std::uint64_t mapped = 0;      ///< address space taken from the operating system
    std::uint64_t mapped_peak = 0; ///< the most at one time
    std::uint64_t metadata = 0;    ///< resident bytes of descriptors and heaps (an upper bound)
    std::uint64_t purged = 0;      ///< bytes given back to the operating system since the start
    std::uint64_t purges = 0;      ///< calls that did it

    // The discipline
    std::uint64_t superblocks_to_global = 0; ///< moved from a thread heap to the global heap, since the start
    std::uint64_t superblocks_from_global = 0; ///< the other way
    std::uint64_t superblocks_fresh = 0;       ///< formatted from free runs

    std::uint32_t size_classes = 0; ///< entries used in `by_class`
    SizeClassStatistics by_class[max_size_classes] = {};

    /// Bytes that the program holds.
    constexpr std::uint64_t live() const { return small_live + large_live + huge_live; }
};

} // namespace cairn
