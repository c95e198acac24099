// SPDX-License-Identifier: MIT
//
// Pages of free blocks: which of them have no memory behind them, and giving memory back.
//
// Adds:    the clean part of a free block, and decommit, which makes it clean.
// Keeps:   a free block over P::decommit_over_pages pages has none of its whole pages committed, but for the ones with
//          its links and its tags. So what is clean is known from a block's place and size, and decommit asks for what
//          has become free since, not for all of a long block each time.
// Threads: the caller owns the block.
// Errors:  the kernel may refuse (locked pages): the memory stays, and is taken for clean, which costs nothing but it.
// Cost:    a system call for each whole page that becomes free, or for several at once. To commit is to touch: a fault.
// Source:  LKmalloc, section 6, G: pages are decommitted whenever a free block larger than two pages is created.
#pragma once

#include <cairn/family/lkmalloc_lists.hpp>
#include <cairn/platform/vm.hpp>

#include <algorithm>

namespace cairn::lkmalloc {

/// For P::decommit_over_pages.
inline constexpr std::size_t never = SIZE_MAX;

struct Range {
    char *begin;
    char *end;

    bool empty() const { return begin >= end; }
};

template <class P>
class Pages {
public:
    /// Of a free block.
    static Range clean_part(char *start, std::size_t size) {
        const std::size_t page = platform::vm::page_size();
        if (P::decommit_over_pages == never || size <= P::decommit_over_pages * page) {
            return {start, start};
        }
        char *const last = start + size - tags_bytes;
        return {start + (align_up(address_of(start) + sizeof(Node), page) - address_of(start)),
                last - address_of(last) % page};
    }

    /// A piece at the front, or at the back, of a block that was free a moment ago.
    static Block front_of(char *start, std::size_t size, std::size_t whole_size) {
        const Range clean = clean_part(start, whole_size);
        Block front = dirty_block(start, size);
        front.dirty_end = clean.empty() ? front.end() : std::min(front.end(), clean.begin);
        return front;
    }
    static Block back_of(char *start, std::size_t size, char *whole_start) {
        Block back = dirty_block(start, size);
        const Range clean = clean_part(whole_start, static_cast<std::size_t>(back.end() - whole_start));
        back.dirty_begin = clean.empty() ? start : std::max(start, clean.end);
        return back;
    }

    /// Puts the block before, or behind, that was free a moment ago, to a block.
    static void join_before(Block &block, std::size_t size) {
        char *const start = block.start - size;
        const Range clean = clean_part(start, size);
        block = {start, block.size + size, clean.empty() ? start : clean.end, block.dirty_end};
    }
    static void join_behind(Block &block, std::size_t size) {
        const Range clean = clean_part(block.end(), size);
        char *const dirty_end = clean.empty() ? block.end() + size : clean.begin;
        block = {block.start, block.size + size, block.dirty_begin, dirty_end};
    }

    /// The block is about to be free. Bytes given back.
    static std::size_t decommit(const Block &block) {
        const Range clean = clean_part(block.start, block.size);
        const std::size_t page = platform::vm::page_size();
        char *const begin = std::max(clean.begin, block.dirty_begin - address_of(block.dirty_begin) % page);
        char *const end = std::min(clean.end, block.dirty_end + (align_up(address_of(block.dirty_end), page) -
                                                                 address_of(block.dirty_end)));
        if (clean.empty() || begin >= end) {
            return 0;
        }
        const auto bytes = static_cast<std::size_t>(end - begin);
        return platform::vm::purge(begin, bytes) ? bytes : 0;
    }
};

} // namespace cairn::lkmalloc
