// SPDX-License-Identifier: MIT
//
// Superblock: a run of slots cut into blocks of one size class. Blocks are carved lazily, a page at a time;
// free ones are linked through their first word, LIFO; the links are encoded with the superblock's secret.
//
// Adds:    pop and push, and the mark of a free block. Carving: carving.hpp; what others free: remote_list.hpp.
// Needs:   a run whose length is a power of two of slots, aligned to it; its two descriptor lines.
// Keeps:   a link decodes to an address inside the same superblock (or to its odd end mark) if and only if
//          the block is free, up to 1 in 2^47: the cookie's top bit is set, so no user pointer and no small
//          number decodes so. That is the mark by which a double free is known, at no further memory access.
//          A link overwritten after the free does not decode, and is found when the block is popped.
// Threads: the owner; `may_be_free`, and `looks_free` by the SharedLine, any.
// Cost:    pop 13 instructions, push 14, with their checks.
// Source:  LIFO blocks (Hoard, section 3); just-in-time carving (Wen and Deng, section 2.5).
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/superblock/block_starts.hpp>
#include <cairn/superblock/remote_word.hpp>

#include <bit>

namespace cairn::superblock {

/// The value of OwnerLine::free when no block is free, and of the last link: an odd address in the
/// superblock.
inline std::uintptr_t end_mark(std::uintptr_t memory) {
    return memory | 1;
}
inline bool is_end(std::uintptr_t link) {
    return (link & 1) != 0;
}

inline std::uint64_t &word_of(std::uintptr_t block) {
    return *reinterpret_cast<std::uint64_t *>(block);
}

/// Whether `link` lies in the superblock of `block`, given its length.
inline bool same_superblock(std::uintptr_t link, std::uintptr_t block, std::size_t span) {
    return (link ^ block) < span;
}

/// Whether the block's first word is a link of its superblock: it is free, but for one chance in 2^47.
inline bool looks_free(std::uintptr_t block, std::uint64_t cookie, std::size_t span) {
    return same_superblock(word_of(block) ^ cookie, block, span);
}

/// The same by what every thread may read.
CAIRN_INLINE bool looks_free(std::uintptr_t block, const SharedLine *shared, std::size_t span) {
    return (word_of(block) ^ shared->key) < span;
}

/// False for a live block, but for one chance in 2^32, and never for a free one: links differ in the lower half only. A load of both
/// halves would wait until a char or an int that the program has just stored there is in the cache.
CAIRN_INLINE bool may_be_free(std::uintptr_t block, const SharedLine *shared) {
    if (block == 0) {
        __builtin_unreachable(); // where free(nullptr) is inlined, compilers would warn of this load
    }
    using Half [[gnu::may_alias]] = std::uint32_t;
    constexpr std::size_t upper = std::endian::native == std::endian::little ? sizeof(Half) : 0;
    return *reinterpret_cast<const Half *>(block + upper) == shared->key >> 32;
}

[[noreturn]] CAIRN_COLD inline void report_overwritten(std::uintptr_t block, std::size_t block_size) {
    platform::fatal({"heap corruption: free block ", reinterpret_cast<const void *>(block), " of size class ",
                     std::uint64_t{block_size}, " was written to after it was freed, or freed twice"});
}

/// Whether the list has a block, with a sound link.
CAIRN_INLINE bool can_pop(const OwnerLine *s, std::size_t span) {
    return CAIRN_LIKELY(!is_end(s->free)) && looks_free(s->free, s->cookie, span);
}

/// The first block. Clears its mark, so that the program may free the block again. The next one's line is fetched: it is read
/// by the next pop, and written by the program.
CAIRN_INLINE void *pop_unchecked(OwnerLine *s) {
    const std::uintptr_t block = s->free;
    s->free = word_of(block) ^ s->cookie;
    platform::fetch_to_write(reinterpret_cast<const void *>(s->free));
    word_of(block) = 0;
    ++s->frees_until_check;
    return reinterpret_cast<void *>(block);
}

/// The same of a list that is not empty; ends the program if the link is damaged.
inline void *pop(OwnerLine *s, std::size_t span) {
    if (CAIRN_UNLIKELY(!can_pop(s, span))) {
        report_overwritten(s->free, shared_of(s)->block_size);
    }
    return pop_unchecked(s);
}

/// Whether it has cut blocks since this was last asked: what it has not cut yet it may soon need.
inline bool take_carved_flag(OwnerLine *s) {
    const bool more = s->carved != s->carved_at_visit;
    s->carved_at_visit = s->carved;
    return more;
}

/// Puts a checked block back. True when the superblock is to be checked. Where blocks are freed one behind the other, the line of
/// a later one is fetched: its free asks for its mark, and the program may have a look at it before.
CAIRN_INLINE bool push(OwnerLine *s, std::uintptr_t block) {
    word_of(block) = s->free ^ s->cookie;
    const auto offset = static_cast<std::uintptr_t>(std::intptr_t{s->prefetch_offset});
    platform::fetch_to_write(reinterpret_cast<const void *>(block + offset));
    s->free = block;
    return --s->frees_until_check == 0;
}

} // namespace cairn::superblock
