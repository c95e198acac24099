// SPDX-License-Identifier: MIT
//
// Superblock: a run of slots cut into blocks of one size class. Blocks are carved lazily, a page at a time;
// free ones are linked through their first word, LIFO; the links are encoded with the superblock's secret.
//
// Adds:    format, pop, push, carve, the taking in of remote frees, and the checks of a freed pointer.
// Needs:   a run whose length is a power of two of slots, aligned to it; its two descriptor lines.
// Keeps:   a link decodes to an address inside the same superblock (or to its odd end mark) if and only if
//          the block is free, up to 1 in 2^47: the cookie's top bit is set, so no user pointer and no small
//          number decodes so. That is the mark by which a double free is known, at no further memory access.
//          A link overwritten after the free does not decode, and is found when the block is popped.
// Threads: the owner; `check_block` and the SharedLine any.
// Cost:    pop 10 instructions, push 12, with their checks.
// Source:  LIFO blocks (Hoard, section 3); just-in-time carving (Wen and Deng, section 2.5).
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/superblock/block_starts.hpp>
#include <cairn/superblock/remote_word.hpp>

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

[[noreturn]] CAIRN_COLD inline void report_overwritten(std::uintptr_t block, std::size_t block_size) {
    platform::fatal({"heap corruption: free block ", reinterpret_cast<const void *>(block), " of size class ",
                     std::uint64_t{block_size}, " was written to after it was freed"});
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
    __builtin_prefetch(reinterpret_cast<const void *>(s->free), 1);
    word_of(block) = 0;
    ++s->above;
    return reinterpret_cast<void *>(block);
}

/// The same of a list that is not empty; ends the program if the link is damaged.
inline void *pop(OwnerLine *s, std::size_t span) {
    if (CAIRN_UNLIKELY(!can_pop(s, span))) {
        report_overwritten(s->free, shared_of(s)->block_size);
    }
    return pop_unchecked(s);
}

/// Puts a checked block back. True when the live blocks came down to the border.
CAIRN_INLINE bool push(OwnerLine *s, std::uintptr_t block) {
    word_of(block) = s->free ^ s->cookie;
    s->free = block;
    return --s->above == 0;
}

/// All blocks of a superblock without live ones are to be carved again: a list that frees have left takes a program through
/// memory in their order, carving in that of addresses (docs/decisions/empty-superblocks-keep-their-class.md).
inline void cut_anew(OwnerLine *s) {
    s->free = end_mark(memory_of(s));
    s->above = 1;
    s->border = -1;
    s->accounted = 0;
    s->carved = 0;
    shared_of(s)->starts_below.store(0, std::memory_order_relaxed);
}

/// Makes an empty superblock of the run at `s`, all its blocks still to be carved.
inline void format(OwnerLine *s, unsigned size_class, std::size_t block_size, std::uint64_t random,
                   bool clean) {
    SharedLine *const shared = shared_of(s);
    s->cookie = random | std::uint64_t{1} << 63;
    s->extent = clean ? 0 : static_cast<std::uint32_t>(span_of(s));
    s->size_class = static_cast<std::uint8_t>(size_class);
    s->clean_start = clean;
    s->place = Place::nowhere;
    for (unsigned i = 1; i < s->slots; ++i) {
        s[i].slots = s->slots; // so that the superblock is found from any of its slots
    }
    shared->cookie = s->cookie;
    shared->reciprocal = reciprocal_of(block_size);
    shared->block_size = static_cast<std::uint32_t>(block_size);
    shared->capacity = static_cast<std::uint16_t>(span_of(s) / block_size);
    shared->size_class = s->size_class;
    shared->slots = static_cast<std::uint8_t>(s->slots);
    cut_anew(s);
}

/// Cuts the next blocks, as many as fit the page that the first one ends in. False when there are none left.
inline bool carve(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    if (s->carved == shared->capacity) {
        return false;
    }
    const std::size_t size = shared->block_size;
    const std::size_t from = s->carved * size;
    const std::size_t page_end = align_up(from + size, platform::smallest_page);
    const std::size_t count = (page_end - from) / size; // a superblock ends with a page
    const std::uintptr_t memory = memory_of(s);
    const std::uint64_t cookie = s->cookie;
    std::uintptr_t link = s->free;
    for (std::uintptr_t block = memory + from + count * size; block != memory + from;) {
        block -= size;
        word_of(block) = link ^ cookie;
        link = block;
    }
    s->free = link;
    s->carved += static_cast<std::uint32_t>(count);
    const std::size_t end = from + count * size;
    // A fork's child finds either both or neither, or sees by `carved` that it is in between.
    std::atomic_signal_fence(std::memory_order_release);
    publish(shared, s->carved);
    const auto touched = static_cast<std::uint32_t>(align_up(end, platform::smallest_page));
    s->extent = touched > s->extent ? touched : s->extent;
    return true;
}

/// Takes in the blocks of `list` (a word that was exchanged out of `remote`). Walks them, which also proves
/// that the list is sound: racing double frees make it too short or a ring.
inline void take_in(OwnerLine *s, RemoteWord list) {
    if (list.empty()) {
        return;
    }
    const std::size_t span = span_of(s);
    const std::uintptr_t first = memory_of(s) + list.head_offset();
    std::uintptr_t last = first;
    for (unsigned left = list.count();; --left) {
        const std::uintptr_t next = word_of(last) ^ s->cookie;
        if (CAIRN_UNLIKELY(!same_superblock(next, last, span) || is_end(next) != (left == 1))) {
            platform::fatal(
                {"double free or heap corruption: the blocks that other threads freed in the superblock at ",
                 reinterpret_cast<const void *>(memory_of(s)), " (size class ",
                 std::uint64_t{shared_of(s)->block_size}, ") do not form a list; one is ",
                 reinterpret_cast<const void *>(last)});
        }
        if (left == 1) {
            break;
        }
        last = next;
    }
    word_of(last) = s->free ^ s->cookie;
    s->free = first;
    s->above -= static_cast<std::int32_t>(list.count());
}

/// The words that take a list leave behind: the owner, and `queued` where it stays in its queue.
/// acquire: pairs with the release of free_remote, so the links and the blocks' last use are visible.
inline void collect(OwnerLine *s) {
    constexpr std::uint64_t keep = RemoteWord::owner_mask | RemoteWord::queued_bit;
    take_in(s, {shared_of(s)->remote.fetch_and(keep, std::memory_order_acquire)});
}

inline bool has_remote_frees(const OwnerLine *s) { // relaxed: a hint, collect() decides
    return !RemoteWord{shared_of(s)->remote.load(std::memory_order_relaxed)}.empty();
}

} // namespace cairn::superblock
