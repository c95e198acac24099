// SPDX-License-Identifier: MIT
//
// Hoard, as the ASPLOS 2000 paper has it (Berger, McKinley, Blumofe, Wilson). Read from the source of memory upward:
//
//   KernelPages    mappings of the operating system
//   HoardLarge     one for each object larger than S/2
//   HoardSupply    superblocks of S bytes, many to a mapping, never given back
//   HoardGlobal    heap 0: superblocks that the threads' heaps were too empty to keep
//   HoardHeap      heaps 1 to 2P, each with its superblocks in fullness groups
//   HoardHeaps     the threads' way to a heap, the locks, the emptiness threshold
//   HoardRouting   sizes and pointers to small and large
#pragma once

#include <cairn/family/hoard_routing.hpp>
#include <cairn/platform/processors.hpp>
#include <cairn/sizeclass/power.hpp>

namespace cairn {

struct HoardParameters {
    static constexpr std::size_t superblock = 8_KiB;  ///< S, section 5
    static constexpr std::size_t slack = 4;           ///< K, superblocks, section 5
    static constexpr std::size_t empty_numerator = 1; ///< f = 1/4, section 5
    static constexpr std::size_t empty_denominator = 4;
    static constexpr std::size_t class_numerator = 6; ///< b = 1.2, section 5
    static constexpr std::size_t class_denominator = 5;
    static constexpr unsigned heaps_per_processor = 2; ///< 2P heaps, section 3
    static constexpr unsigned groups =
        4; ///< fullness groups between empty and full; section 3.1 names quarters
    static constexpr std::size_t chunk =
        1_MiB; ///< superblocks are mapped this much at a time; not the paper's

    /// P. Asked once, at the first malloc.
    static unsigned processors() { return platform::processors(); }
};

/// What follows from the parameters.
template <class P>
struct HoardDesign {
    static constexpr std::size_t superblock = P::superblock;
    static constexpr std::size_t chunk = P::chunk;
    static constexpr std::size_t slack = P::slack * P::superblock; ///< K S, bytes
    static constexpr std::size_t numerator = P::empty_numerator;
    static constexpr std::size_t denominator = P::empty_denominator;
    static constexpr unsigned groups = P::groups;
    static_assert(0 < numerator && numerator < denominator);

    using Superblock = HoardSuperblock<superblock>;
    using Classes = PowerSizeClasses<superblock / 2, P::class_numerator, P::class_denominator>;

    /// Up to this fullness group a superblock is at least f empty, above it is not: a group's end must be at 1 - f.
    static constexpr unsigned last_movable_group = groups * (denominator - numerator) / denominator;
    static_assert(groups * (denominator - numerator) % denominator == 0);

    static unsigned heaps() { return P::heaps_per_processor * P::processors(); }

    /// Theorem 1 with its constants: the most room for blocks that all superblocks together have, when at most `live`
    /// bytes (in whole blocks) of one size class were live at once, and `heaps` heaps were used.
    static constexpr std::size_t most_room(std::size_t live, std::size_t heaps) {
        return live + most_free(live, heaps, 1);
    }
    /// The most that is free in heaps 1 to 2P, when `live` bytes are live and blocks of `classes` classes were asked
    /// for. Between two frees each class may bring its heap a superblock; one of them is within K S, unless K is 0.
    static constexpr std::size_t most_free(std::size_t live, std::size_t heaps, std::size_t classes) {
        const std::size_t more = slack == 0 ? classes : classes - 1;
        const std::size_t between_frees = more * superblock * denominator / (denominator - numerator);
        return live * numerator / (denominator - numerator) + heaps * (slack + between_frees);
    }
};

template <class P = HoardParameters, PageSource Pages = KernelPages>
using Hoard = HoardRouting<HoardDesign<P>, Pages>;

} // namespace cairn
