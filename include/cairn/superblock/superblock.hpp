// SPDX-License-Identifier: MIT
//
// Superblock: a run of slots with blocks of one size class. Blocks are carved lazily, a page at a time. Free blocks
// are linked through their first words, last in first out; the links are encoded with a secret of the superblock.
//
// Adds:    pop and push, and the free-block signature. Carving: carving.hpp; remote frees: remote_list.hpp.
// Needs:   a run whose length is a power of two of slots, aligned to it; its descriptor lines.
// Keeps:   a free block's first word always decodes to an address in the same superblock, or to its odd end mark.
//          This is the free-block signature. A live block's first word decodes so by chance, with a probability of
//          2^-47; a user pointer or a small number never does, since the cookie's top bit is set. The signature shows
//          a double free without another cache line. A link that the program overwrites after the free does not
//          decode: pop() finds that.
// Threads: the owner; may_be_free, and looks_free with a SharedLine: any.
// Source:  LIFO blocks (Hoard, section 3); just-in-time carving (Wen and Deng, section 2.5).
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/superblock/block_starts.hpp>
#include <cairn/superblock/remote_word.hpp>

#include <bit>

namespace cairn::superblock {

/// The terminator of a free list, and OwnerLine::free where the list is empty: an odd address in the superblock.
inline std::uintptr_t end_mark(std::uintptr_t memory) {
    return memory | 1;
}

/// Whether a link is the terminator.
inline bool is_end(std::uintptr_t link) {
    return (link & 1) != 0;
}

/// The first word of a block: the encoded link of a free one.
inline std::uint64_t &word_of(std::uintptr_t block) {
    return *reinterpret_cast<std::uint64_t *>(block);
}

/// Whether `link` lies in the superblock of `block`, which has `span` bytes.
inline bool same_superblock(std::uintptr_t link, std::uintptr_t block, std::size_t span) {
    return (link ^ block) < span;
}

/// Whether the block has the free-block signature: its first word is a link of its superblock. A live block has it by
/// one chance in 2^47.
inline bool looks_free(std::uintptr_t block, std::uint64_t cookie, std::size_t span) {
    return same_superblock(word_of(block) ^ cookie, block, span);
}

/// Whether the block has the free-block signature, from SharedLine alone, which any thread may read.
CAIRN_INLINE bool looks_free(std::uintptr_t block, const SharedLine *shared, std::size_t span) {
    return (word_of(block) ^ shared->key) < span;
}

/// False for a live block, but for one chance in 2^32; true for every free block: links of a superblock differ in
/// their lower halves only. Loads the upper half alone: a load of the whole word would wait for a shorter store that
/// the program has just made to the lower half.
CAIRN_INLINE bool may_be_free(std::uintptr_t block, const SharedLine *shared) {
    if (block == 0) {
        // Callers know that the address is in a segment; compilers do not, and warn where free(nullptr) is inlined.
        __builtin_unreachable();
    }
    using Half [[gnu::may_alias]] = std::uint32_t;
    constexpr std::size_t upper = std::endian::native == std::endian::little ? sizeof(Half) : 0;
    return *reinterpret_cast<const Half *>(block + upper) == shared->key >> 32;
}

[[noreturn]] CAIRN_COLD inline void report_overwritten(std::uintptr_t block, std::size_t block_size) {
    platform::fatal({"heap corruption: free block ", reinterpret_cast<const void *>(block), " of size class ",
                     std::uint64_t{block_size}, " was written to after it was freed, or freed twice"});
}

/// Whether the list has a first block, and that has its signature.
CAIRN_INLINE bool can_pop(const OwnerLine *s, std::size_t span) {
    return CAIRN_LIKELY(!is_end(s->free)) && looks_free(s->free, s->cookie, span);
}

/// Takes the first block; can_pop() was true. Clears the signature, so that the program may free the block again.
/// Prefetches the next block, which the next pop reads and the program writes.
CAIRN_INLINE void *pop_unchecked(OwnerLine *s) {
    const std::uintptr_t block = s->free;
    s->free = word_of(block) ^ s->cookie;
    platform::fetch_to_write(reinterpret_cast<const void *>(s->free));
    word_of(block) = 0;
    ++s->frees_until_check;
    return reinterpret_cast<void *>(block);
}

/// Takes the first block of a list that is not empty. Ends the program if the block was written to after it was
/// freed.
inline void *pop(OwnerLine *s, std::size_t span) {
    if (CAIRN_UNLIKELY(!can_pop(s, span))) {
        report_overwritten(s->free, shared_of(s)->block_size);
    }
    return pop_unchecked(s);
}

/// Whether blocks were carved since the last call: then the superblock may soon need its uncarved memory.
inline bool take_carved_flag(OwnerLine *s) {
    const bool more = s->carved != s->carved_at_visit;
    s->carved_at_visit = s->carved;
    return more;
}

/// Puts a checked block back. True when the superblock's check is due. Where blocks are freed in order of address,
/// prefetches a block that is freed soon: its free reads its signature, and the program may read it before.
CAIRN_INLINE bool push(OwnerLine *s, std::uintptr_t block) {
    word_of(block) = s->free ^ s->cookie;
    const auto offset = static_cast<std::uintptr_t>(std::intptr_t{s->prefetch_offset});
    platform::fetch_to_write(reinterpret_cast<const void *>(block + offset));
    s->free = block;
    return --s->frees_until_check == 0;
}

} // namespace cairn::superblock
