// SPDX-License-Identifier: MIT
//
// Remote word: the blocks of a superblock that other threads have freed, their number, and the superblock's owner, in
// one word. So one atomic operation publishes a block, counts it, and agrees with the owner on who owns the superblock.
//
//   bits 0-19   offset of the first block / 8, plus 1; 0: no block
//   bits 20-35  number of blocks
//   bit  36     queued: a notice about the superblock is on its way, or in an inbox
//   bits 40-55  heap number of the owner; 0: the global heap
//
// Keeps:   while `queued` is set, exactly one agent is responsible for the superblock's notice: a freeing thread
//          between its exchange and its push, or the inbox that holds the superblock. Meanwhile the owner changes only
//          by the thread that empties this inbox, or from 0 to a heap.
// Threads: any. Many threads push onto the list, and it is taken whole, so there is no ABA: a push that finds the
//          same first block and the same count finds a list that it may extend.
// Source:  remote free lists are NBmalloc's (section 5: the IBM free-list). Since the list is taken whole, and not
//          popped, it needs no version tag.
#pragma once

#include <cairn/run/descriptor.hpp>

namespace cairn {

struct RemoteWord {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t head_mask = (std::uint64_t{1} << 20) - 1;
    static constexpr unsigned count_shift = 20;
    static constexpr std::uint64_t count_one = std::uint64_t{1} << count_shift;
    static constexpr std::uint64_t count_mask = std::uint64_t{0xffff} << count_shift;
    static constexpr std::uint64_t queued_bit = std::uint64_t{1} << 36;
    static constexpr unsigned owner_shift = 40;
    static constexpr std::uint64_t owner_mask = std::uint64_t{0xffff} << owner_shift;

    static constexpr std::uint64_t owned_by(unsigned heap) { return std::uint64_t{heap} << owner_shift; }

    constexpr bool empty() const { return (bits & head_mask) == 0; }
    constexpr std::uint64_t head_offset() const { return ((bits & head_mask) - 1) * 8; }
    constexpr unsigned count() const { return static_cast<unsigned>((bits & count_mask) >> count_shift); }
    constexpr bool queued() const { return (bits & queued_bit) != 0; }
    constexpr unsigned owner() const { return static_cast<unsigned>((bits & owner_mask) >> owner_shift); }

    /// The word after a push of `blocks` blocks, the first of them at `offset` in the superblock.
    constexpr RemoteWord pushed(std::uint64_t offset, unsigned blocks = 1) const {
        return {((bits & ~head_mask) | (offset / 8 + 1)) + blocks * count_one};
    }
};

} // namespace cairn
