// SPDX-License-Identifier: MIT
//
// HoardLarge: a mapping for each block that is larger than half a superblock.
//
// Adds:    malloc, free, the size of a block, alignments of any size.
// Needs:   a PageSource.
// Keeps:   the header, a HoardHeader without an owner, lies at a multiple of S at most S bytes before the block, as
//          that of a superblock lies before its blocks: so one masking finds either. A block at a multiple of S has its
//          header S bytes before it.
// Threads: any; no lock. The header is written before the block is handed out.
// Errors:  nullptr when the kernel refuses the mapping or no size of such a length exists.
// Cost:    a system call each way and a fault a page; 64 bytes, or the alignment, before the block.
// Source:  Hoard, section 3: objects larger than S/2 by mmap and munmap. How free tells them is left open there: a
//          header in the mapping needs neither a table nor a lock, which an aligned mapping without one would need
//          for its length.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/hoard_superblock.hpp>
#include <cairn/source/pages.hpp>

#include <algorithm>
#include <new>

namespace cairn {

template <std::size_t S>
class HoardLarge {
public:
    /// A block of `size` bytes at a multiple of `alignment`, a power of two, and zeroed.
    template <PageSource Pages>
    void *memalign(Pages &pages, std::size_t alignment, std::size_t size) {
        if (size > most_ || alignment > most_) {
            return nullptr;
        }
        // From the mapping's start to the block, and to the header. The mapping starts at a multiple of both.
        const std::size_t to_block = std::max(alignment, sizeof(Header));
        const std::size_t to_header = to_block > S ? to_block - S : 0;
        const std::size_t length =
            align_up(to_block + std::max<std::size_t>(size, 1), platform::smallest_page);
        char *const start = static_cast<char *>(pages.map(length, std::max(alignment, S)));
        if (start == nullptr) {
            return nullptr;
        }
        auto *const header = new (start + to_header) Header;
        header->mapping = start;
        header->length = length;
        // relaxed: for reports only.
        live_.fetch_add(length, std::memory_order_relaxed);
        blocks_.fetch_add(1, std::memory_order_relaxed);
        return start + to_block;
    }

    template <PageSource Pages>
    void free(Pages &pages, HoardHeader *of_block) {
        const auto *const header = static_cast<Header *>(of_block);
        // relaxed: for reports only.
        live_.fetch_sub(header->length, std::memory_order_relaxed);
        blocks_.fetch_sub(1, std::memory_order_relaxed);
        pages.unmap(header->mapping, header->length);
    }

    static std::size_t size_of(const HoardHeader *of_block, const void *block) {
        const auto *const header = static_cast<const Header *>(of_block);
        return header->length - (address_of(block) - address_of(header->mapping));
    }

    void report(Statistics &out) const { // relaxed: numbers of different moments
        out.huge_live = live_.load(std::memory_order_relaxed);
        out.huge_live_blocks = blocks_.load(std::memory_order_relaxed);
    }

private:
    struct alignas(platform::cache_line) Header : HoardHeader {
        void *mapping = nullptr;
        std::size_t length = 0;
    };
    static_assert(sizeof(Header) <= S);

    /// No sum above overflows, and no block is longer than the difference of two pointers.
    static constexpr std::size_t most_ = PTRDIFF_MAX / 4;

    std::atomic<std::uint64_t> live_{0};
    std::atomic<std::uint64_t> blocks_{0};
};

} // namespace cairn
