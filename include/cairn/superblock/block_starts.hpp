// SPDX-License-Identifier: MIT
//
// Block starts: whether an address in a superblock is the start of a block that was carved, by one multiplication and
// one comparison.
//
// Adds:    is_block_start; publish, which sets the limit that it compares with.
// Needs:   a SharedLine.
// Keeps:   let d be the block size and r the least number above 2^64 / d. Then r d = 2^64 + e with 1 <= e <= d.
//          Modulo 2^64 the product of r and an offset k d is k e, a small number. The product of r and any other
//          offset is at least r, which is more than k e for every k that fits a superblock. So an offset is the start
//          of one of the first n blocks if and only if its product is less than n e.
// Threads: publish: a thread that has exclusive access to the superblock, or carves it as its owner. All else: any.
//          relaxed: the store that made a block's start known is in the history of every pointer to the block.
// Source:  divisibility by a multiplication: Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019.
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/run/segment.hpp>

#include <bit>

namespace cairn::superblock {

/// r, as the comment at the top defines it.
constexpr std::uint64_t reciprocal_of(std::size_t block_size) {
    return ~std::uint64_t{0} / block_size + (std::has_single_bit(block_size) ? 2 : 1);
}

/// e, as the comment at the top defines it.
inline std::uint64_t excess(const SharedLine *shared) {
    return shared->reciprocal * shared->block_size;
}

/// Whether `offset`, from the first block, is the start of a block that was carved. `shared`: the line of the slot
/// that this address lies in.
CAIRN_INLINE bool is_block_start(const SharedLine *shared, std::uint64_t offset) {
    return platform::is_below(offset * shared->reciprocal, shared->starts_below);
}

/// Makes it known that the first `carved` blocks are carved. The blocks that were not carved before begin in the
/// slots from number `from` to `last` of the superblock, whose lines get the new limit; the line of the first slot
/// counts all blocks. It is stored last: the child of a fork finds it equal to OwnerLine::carved only where all the
/// others are up to date.
inline void publish(SharedLine *shared, std::uint64_t carved, unsigned from = 0, unsigned last = 0) {
    const auto below = carved * excess(shared);
    for (unsigned slot = last; slot > 0 && slot >= from; --slot) {
        shared[slot].starts_below.store(below, std::memory_order_relaxed);
    }
    shared->starts_below.store(below, std::memory_order_relaxed);
}

/// The number of blocks in the last publish().
inline std::uint64_t published(const SharedLine *shared) {
    return shared->starts_below.load(std::memory_order_relaxed) / excess(shared);
}

} // namespace cairn::superblock
