// SPDX-License-Identifier: MIT
//
// Signatures: whether the blocks of a superblock that are counted as free are free.
//
// Adds:    marked_blocks, check_free, check_all_free.
// Needs:   the superblock's descriptor lines, and its memory.
// Keeps:   counts alone do not show that a block is free: after racing double frees they are wrong.
// Threads: a thread that has exclusive access to the superblock, or its owner.
// Errors:  ends the program where a block that should be free is not.
// Cost:    a few instructions and a load for each block.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// How many blocks from the start have a signature or are live.
inline std::uint16_t marked_blocks(const OwnerLine *s) {
    const unsigned marked = shared_of(s)->marked;
    return static_cast<std::uint16_t>(marked < s->carved ? s->carved : marked);
}

/// Ends the program: of the blocks from `block` on, one is not free. Finds it for the message.
[[noreturn]] CAIRN_COLD inline void report_not_free(const OwnerLine *s, std::uintptr_t block) {
    const std::size_t size = shared_of(s)->block_size;
    while (looks_free(block, s->cookie, span_of(s))) {
        block += size;
    }
    platform::fatal({"double free or heap corruption: as many blocks of the superblock at ",
                     reinterpret_cast<const void *>(memory_of(s)), " (size class ", std::uint64_t{size},
                     ") were freed as it has, but ", reinterpret_cast<const void *>(block), " is not free"});
}

/// Ends the program unless each block from number `first` to before `end` has its signature. A first word xor the
/// cookie xor the block's address is less than the superblock's length, a power of two, if and only if the word is a
/// link of this superblock. The OR of several such values is less if and only if each of them is, so one comparison
/// answers for all blocks.
inline void check_free(const OwnerLine *s, std::size_t first, std::size_t end) {
    const std::uintptr_t memory = blocks_of(s);
    const std::size_t size = shared_of(s)->block_size;
    const std::uint64_t cookie = s->cookie;
    std::uint64_t all = 0;
    for (std::uintptr_t block = memory + first * size, behind = memory + end * size; block < behind;
         block += size) {
        all |= word_of(block) ^ cookie ^ block;
    }
    if (CAIRN_UNLIKELY(all >= span_of(s))) {
        report_not_free(s, memory + first * size);
    }
}

/// Ends the program unless all blocks have their signatures. To call before the memory is used for anything else.
inline void check_all_free(const OwnerLine *s) {
    check_free(s, 0, marked_blocks(s));
}

} // namespace cairn::superblock
