// SPDX-License-Identifier: MIT
//
// Carving: how a superblock is cut into blocks, a page at a time, and cut anew when none of them is live.
//
// Adds:    format, carve, carve_again, drop_uncarved; the check that blocks which are counted as free are free.
// Needs:   a run whose length is a power of two of slots, aligned to it; its two descriptor lines.
// Keeps:   `carved` blocks from the start may be live; as many as `marked` say by their mark whether they are free. Memory
//          is cut for a second time only where each block has its mark: counts alone are wrong after racing double frees.
// Threads: who has the superblock to himself.
// Errors:  ends the program where a block that should be free is not.
// Cost:    5 instructions a block, 8 when cut anew, and what fetches the lines of the page behind.
// Source:  just-in-time carving (Wen and Deng, section 2.5).
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/superblock/superblock.hpp>

#include <algorithm>

namespace cairn::superblock {

/// Blocks from the start that have a mark, or were handed out.
inline std::uint16_t marked_blocks(const OwnerLine *s) {
    const unsigned marked = shared_of(s)->marked;
    return static_cast<std::uint16_t>(marked < s->carved ? s->carved : marked);
}

[[noreturn]] CAIRN_COLD inline void report_not_free(const OwnerLine *s, std::uintptr_t block) {
    const std::size_t size = shared_of(s)->block_size;
    while (looks_free(block, s->cookie, span_of(s))) {
        block += size;
    }
    platform::fatal({"double free or heap corruption: as many blocks of the superblock at ",
                     reinterpret_cast<const void *>(memory_of(s)), " (size class ", std::uint64_t{size},
                     ") were freed as it has, but ", reinterpret_cast<const void *>(block), " is not free"});
}

/// Ends the program unless the blocks from number `first` to `end` are as free as the counts say. One that is not sets bits
/// that are those of another superblock, so there is one question for all.
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

/// The same of all blocks: before the memory is used for anything else.
inline void check_all_free(const OwnerLine *s) {
    check_free(s, 0, marked_blocks(s));
}

/// All blocks of a superblock without live ones are to be carved again: a list that frees have left takes a program through
/// memory in their order, carving in that of addresses (docs/decisions/empty-superblock-reuse.md). What others
/// freed was counted, and is forgotten.
inline void carve_again(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    const std::uint16_t marked = marked_blocks(s);
    // A fork's child finds what follows in part, and by this that there is no block.
    s->carved = 0;
    std::atomic_signal_fence(std::memory_order_release);
    s->free = end_mark(memory_of(s));
    s->frees_until_check = 1;
    s->check_at = -1;
    s->accounted = 0;
    shared->marked = marked;
    publish(shared, 0, 0, s->slots - 1u);
}

/// Makes an empty superblock of the run at `s`, of which `touched` bytes were touched; all its blocks are still to be carved.
inline void format(OwnerLine *s, unsigned size_class, std::size_t block_size, std::size_t shift,
                   std::uint64_t random, std::uint32_t touched) {
    SharedLine *const shared = shared_of(s);
    s->carved = 0; // first, as above
    shared->marked = 0;
    std::atomic_signal_fence(std::memory_order_release);
    s->cookie = random | std::uint64_t{1} << 63;
    s->touched = touched;
    s->size_class = static_cast<std::uint8_t>(size_class);
    s->place = Place::nowhere;
    for (unsigned i = 0; i < s->slots; ++i) { // found from any of its slots
        shared[i].slots_before.store(static_cast<std::uint8_t>(i), std::memory_order_relaxed);
        shared[i].key = s->cookie ^ memory_of(s);
        shared[i].reciprocal = reciprocal_of(block_size);
        shared[i].first_block = memory_of(s) + shift;
    }
    shared->block_size = static_cast<std::uint32_t>(block_size);
    shared->capacity = static_cast<std::uint16_t>(span_of(s) / block_size);
    shared->size_class = s->size_class;
    shared->slots = static_cast<std::uint8_t>(s->slots);
    carve_again(s);
}

/// Links the blocks between `first` and `behind`, in order of address, in front of the list that starts with `link`; returns the new
/// start. Checked: each ends the program unless it is free by its mark.
template <bool Checked>
std::uintptr_t chain(const OwnerLine *s, std::uintptr_t first, std::uintptr_t behind, std::uintptr_t link) {
    const std::size_t size = shared_of(s)->block_size;
    const std::uint64_t cookie = s->cookie;
    const std::size_t span = span_of(s);
    std::uint64_t word = link ^ cookie;
    for (std::uintptr_t block = behind; block != first;) {
        block -= size;
        const std::uint64_t encoded = block ^ cookie;
        if (Checked && CAIRN_UNLIKELY((word_of(block) ^ encoded) >= span)) {
            report_not_free(s, block);
        }
        word_of(block) = word;
        word = encoded;
    }
    return word ^ cookie;
}

/// Fetches the lines that the next cutting looks at: of memory that was touched before, the first may cost more than all the rest.
inline void fetch_blocks(std::uintptr_t first, std::uintptr_t behind, std::size_t size) {
    const std::size_t step = size > platform::cache_line ? size : platform::cache_line;
    for (std::uintptr_t block = first; block < behind; block += step) {
        platform::fetch_to_write(reinterpret_cast<const void *>(block));
    }
}

/// Cuts the next blocks: those that fit the page that the first one ends in; of memory touched before, several. False: none are left.
inline bool carve(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    if (s->carved == shared->capacity) {
        return false;
    }
    const std::uint32_t size = shared->block_size; // 32 bits: divisions take half the time
    const std::uint32_t from = static_cast<std::uint32_t>(shift_of(s)) + s->carved * size;
    const auto page_end = static_cast<std::uint32_t>(align_up(from + size, platform::smallest_page));
    std::uint32_t count = (page_end - from) / size; // a superblock ends with a page
    constexpr std::uint32_t several = 8;
    if (count < several && s->touched > from) {
        const std::uint32_t touched_before = (s->touched - from) / size;
        count = std::clamp(touched_before, count, several);
    }
    const std::uint32_t marked = std::clamp<std::uint32_t>(shared->marked, s->carved, s->carved + count);
    const std::uintptr_t memory = memory_of(s);
    const std::uint32_t end = from + count * size;
    const std::uintptr_t unmarked = shared->first_block + marked * size;
    s->free = chain<false>(s, unmarked, memory + end, s->free);
    s->free = chain<true>(s, memory + from, unmarked, s->free);
    s->carved += count;
    // A fork's child finds either both or neither, or sees by `carved` that it is in between.
    std::atomic_signal_fence(std::memory_order_release);
    publish(shared, s->carved, from / slot_size, (end - size) / slot_size);
    const auto touched = static_cast<std::uint32_t>(align_up(end, platform::smallest_page));
    s->touched = touched > s->touched ? touched : s->touched;
    fetch_blocks(memory + end, memory + std::min(end + (end - from), s->touched), size);
    return true;
}

/// Gives the memory behind the carved blocks back to the operating system, where it is much and was touched before.
inline void drop_uncarved(OwnerLine *s) {
    constexpr std::size_t least = 16_KiB; // less is not worth a system call
    SharedLine *const shared = shared_of(s);
    const std::size_t size = shared->block_size;
    const std::size_t page = platform::vm::page_size();
    const std::size_t kept = align_up(shift_of(s) + s->carved * size, page);
    if (s->touched < kept + least) {
        return;
    }
    check_free(s, s->carved, marked_blocks(s));
    const std::size_t still_marked = ceil_div(kept - shift_of(s), size);
    shared->marked =
        static_cast<std::uint16_t>(still_marked < shared->marked ? still_marked : shared->marked);
    std::atomic_signal_fence(std::memory_order_release); // a fork's child never looks for marks that are gone
    if (platform::vm::purge(reinterpret_cast<void *>(memory_of(s) + kept),
                            align_up(s->touched, page) - kept)) {
        s->touched = static_cast<std::uint32_t>(kept);
    }
}

} // namespace cairn::superblock
