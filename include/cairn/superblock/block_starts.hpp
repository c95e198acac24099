// SPDX-License-Identifier: MIT
//
// Block starts: whether an address in a superblock is the start of a block that was handed out at some time, by one
// multiplication and one comparison.
//
// Adds:    is_block_start, and what it compares with.
// Needs:   a SharedLine.
// Keeps:   with r the least number above 2^64 / d, for a block size d, r is too large by e: r d = 2^64 + e, 1 <= e <= d. Modulo
//          2^64, the product of r and an offset k d is k e, a small number; that of any other offset is r at least, larger
//          than k e for any k that fits a superblock. So the start of one of the first n blocks is what stays below n e.
// Threads: publish: who holds the superblock; the rest any. relaxed: a block was carved in its pointer's own history.
// Cost:    4 instructions and a branch.
// Source:  divisibility by a multiplication: Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019.
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/run/segment.hpp>

#include <bit>

namespace cairn::superblock {

constexpr std::uint64_t reciprocal_of(std::size_t block_size) {
    return ~std::uint64_t{0} / block_size + (std::has_single_bit(block_size) ? 2 : 1);
}

/// e.
inline std::uint64_t excess(const SharedLine *shared) {
    return shared->reciprocal * shared->block_size;
}

CAIRN_INLINE bool is_block_start(const SharedLine *shared, std::uint64_t offset) {
    return platform::is_below(offset * shared->reciprocal, shared->starts_below);
}

/// So many blocks are carved, for all to know; those that were not before begin in the slots from `from` to `last`. That of the first slot
/// counts all, whatever is asked of it, and comes last: a fork's child finds it as `carved`, or the others to be as they should.
inline void publish(SharedLine *shared, std::uint64_t carved, unsigned from = 0, unsigned last = 0) {
    const auto below = carved * excess(shared);
    for (unsigned slot = last; slot > 0 && slot >= from; --slot) {
        shared[slot].starts_below.store(below, std::memory_order_relaxed);
    }
    shared->starts_below.store(below, std::memory_order_relaxed);
}
inline std::uint64_t published(const SharedLine *shared) {
    return shared->starts_below.load(std::memory_order_relaxed) / excess(shared);
}

} // namespace cairn::superblock
