// SPDX-License-Identifier: MIT
//
// Carving: how the blocks of a superblock are linked into its free list, a page at a time, and how a superblock
// without live blocks is carved again from its start.
//
// Adds:    format, carve, carve_again, drop_uncarved.
// Needs:   a run whose length is a power of two of slots, aligned to it; its descriptor lines.
// Keeps:   the first `carved` blocks may be live. The first `marked` blocks have a free-block signature unless they
//          are live (signatures.hpp). Memory is carved a second time only where each block has its signature.
// Threads: a thread that has exclusive access to the superblock; carve and drop_uncarved: also its owner.
// Errors:  ends the program where a block that should be free is not.
// Cost:    5 instructions a block, 8 where a signature is checked, and prefetches of the next page's blocks.
// Source:  just-in-time carving (Wen and Deng, section 2.5).
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/superblock/signatures.hpp>

#include <algorithm>

namespace cairn::superblock {

/// All blocks of a superblock without live ones will be carved again, in order of address. The list that frees have
/// left goes through memory in the order of these frees (docs/decisions/empty-superblock-reuse.md). Remote frees were
/// counted; their list is forgotten.
inline void carve_again(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    const std::uint16_t marked = marked_blocks(s);
    // The child of a fork may find only a part of the stores below. By `carved` it finds that there is no block.
    s->carved = 0;
    std::atomic_signal_fence(std::memory_order_release);
    s->free = end_mark(memory_of(s));
    s->frees_until_check = 1;
    s->check_at = -1;
    s->accounted = 0;
    shared->marked = marked;
    publish(shared, 0, 0, s->slots - 1u);
}

/// Makes the run at `s`, of which the first `touched` bytes were touched, an empty superblock, of which no block is
/// carved.
/// `shift`: bytes before the first block. `random`: for the cookie.
inline void format(OwnerLine *s, unsigned size_class, std::size_t block_size, std::size_t shift,
                   std::uint64_t random, std::uint32_t touched) {
    SharedLine *const shared = shared_of(s);
    s->carved = 0; // first: see carve_again()
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

/// Links the blocks from `first` to before `behind`, in order of address, in front of the list that starts with `link`.
/// Returns the new start. Checked: ends the program unless each of these blocks has its signature.
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

/// Prefetches the blocks that the next carve() writes. Where memory was touched before, the first miss may cost more
/// than all other work of carve().
inline void fetch_blocks(std::uintptr_t first, std::uintptr_t behind, std::size_t size) {
    const std::size_t step = size > platform::cache_line ? size : platform::cache_line;
    for (std::uintptr_t block = first; block < behind; block += step) {
        platform::fetch_to_write(reinterpret_cast<const void *>(block));
    }
}

/// Carves the next blocks: those that fit the page in which the first of them ends; in memory that was touched before,
/// up to eight. False if none are left.
inline bool carve(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    if (s->carved == shared->capacity) {
        return false;
    }
    const std::uint32_t size = shared->block_size; // 32 bits: faster divisions
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
    // Before the blocks are written: the child of a fork takes the memory behind `touched` for zeroed memory.
    s->touched = std::max(s->touched, static_cast<std::uint32_t>(align_up(end, platform::smallest_page)));
    std::atomic_signal_fence(std::memory_order_release);
    const std::uintptr_t unmarked = shared->first_block + marked * size;
    s->free = chain<false>(s, unmarked, memory + end, s->free);
    s->free = chain<true>(s, memory + from, unmarked, s->free);
    s->carved += count;
    // The child of a fork finds both stores or neither, or finds that `carved` and published() differ, and then
    // recounts the superblock.
    std::atomic_signal_fence(std::memory_order_release);
    publish(shared, s->carved, from / slot_size, (end - size) / slot_size);
    fetch_blocks(memory + end, memory + std::min(end + (end - from), s->touched), size);
    return true;
}

/// Less is not worth a system call, which interrupts other processors.
inline constexpr std::size_t least_uncarved = 40_KiB;

/// Purges the memory behind the carved blocks, where at least that much of it was touched.
inline void drop_uncarved(OwnerLine *s) {
    SharedLine *const shared = shared_of(s);
    const std::size_t size = shared->block_size;
    const std::size_t page = platform::vm::page_size();
    const std::size_t kept = align_up(shift_of(s) + s->carved * size, page);
    if (s->touched < kept + least_uncarved) {
        return;
    }
    check_free(s, s->carved, marked_blocks(s));
    const std::size_t still_marked = ceil_div(kept - shift_of(s), size);
    shared->marked =
        static_cast<std::uint16_t>(still_marked < shared->marked ? still_marked : shared->marked);
    std::atomic_signal_fence(
        std::memory_order_release); // a fork child never asks for signatures that are gone
    if (platform::vm::purge(reinterpret_cast<void *>(memory_of(s) + kept),
                            align_up(s->touched, page) - kept)) {
        s->touched = static_cast<std::uint32_t>(kept);
    }
}

} // namespace cairn::superblock
