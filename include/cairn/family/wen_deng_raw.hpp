// SPDX-License-Identifier: MIT
//
// Raw blocks: whole pages, for requests above S/2, for superblocks and their records.
//
// Adds:    best fit from one list of freed raw blocks, the smallest first, all threads'; splitting; pages for
//          superblocks out of the same list.
// Needs:   Pages below. Blocks have a Header (wen_deng_superblock.hpp) with their size and `raw_mark`.
// Keeps:   every size is a multiple of S. A raw block is at most a page larger than it must be; a page that becomes a
//          superblock is cut off always, because it never comes back. Raw blocks are not joined.
// Threads: any; one lock for the list and the break.
// Errors:  nullptr.
// Cost:    a walk over the freed raw blocks that are smaller, each way.
// Source:  Wen and Deng, section 2.3.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/wen_deng_pages.hpp>
#include <cairn/family/wen_deng_superblock.hpp>

namespace cairn::wen_deng {

template <class Parameters, Heap Source>
class RawBlocks {
    static constexpr std::size_t superblock_size = Parameters::superblock_size;

public:
    void *malloc(std::size_t size) { return memalign(superblock_size, size); }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (size > largest_ || wanted > largest_ - size) {
            return nullptr;
        }
        const std::size_t need = align_up(size + sizeof(Header), superblock_size);
        const sync::Guard guard(lock);
        char *block = take_locked(wanted, need);
        if (block == nullptr) {
            return nullptr;
        }
        const std::size_t before = padding(block, wanted);
        if (before != 0) {
            block = cut_locked(block, before);
            put_locked(block - before);
        }
        if (size_of(block) - need > Parameters::raw_slack) {
            put_locked(cut_locked(block, need));
        }
        live_ += size_of(block);
        ++live_blocks_;
        return block;
    }

    void free(void *block) {
        const sync::Guard guard(lock);
        live_ -= size_of(block);
        --live_blocks_;
        put_locked(block);
    }

    static bool is_raw(const void *block) { return (header_of(block) & raw_mark) != 0; }
    static std::size_t size_of(const void *block) { return header_of(block) - raw_mark; }

    /// A page for a superblock, and room for its record, which is on a page with others. False: out of memory.
    bool make_superblock(std::size_t record_size, char *&page, void *&record) {
        const sync::Guard guard(lock);
        page = page_locked();
        if (page == nullptr) {
            return false;
        }
        if (record_room_ < record_size) {
            records_ = page_locked();
            record_room_ = records_ != nullptr ? superblock_size - sizeof(Header) : 0;
        }
        if (records_ == nullptr) {
            put_locked(page);
            return false;
        }
        record = records_;
        records_ += record_size;
        record_room_ -= record_size;
        return true;
    }

    void statistics(Statistics &out) {
        const sync::Guard guard(lock);
        out.large_live = live_;
        out.large_live_blocks = live_blocks_;
        out.mapped = pages_.taken();
        out.mapped_peak = out.mapped;
        for (const Free *at = free_; at != nullptr; at = at->next) {
            out.free_dirty += size_of(at);
        }
    }

    /// For forks; held around all else.
    sync::Lock lock{sync::Rank::runs};

private:
    struct Free {
        Free *next; ///< the next larger
    };

    static constexpr std::size_t largest_ = PTRDIFF_MAX - 3 * superblock_size;

    static void set_size(void *block, std::size_t size) { header_of(block) = size | raw_mark; }

    static std::size_t padding(const void *block, std::size_t wanted) {
        return align_up(address_of(block), wanted) - address_of(block);
    }

    /// The smallest freed block with room for `bytes` at a multiple of `wanted`, as it is, or fresh pages.
    char *take_locked(std::size_t wanted, std::size_t bytes) {
        Free **at = first_not_below(bytes);
        while (*at != nullptr && size_of(*at) - bytes < padding(*at, wanted)) {
            at = &(*at)->next;
        }
        if (Free *const found = *at; found != nullptr) {
            *at = found->next;
            return reinterpret_cast<char *>(found);
        }
        const std::size_t slack = wanted > superblock_size ? wanted - superblock_size : 0;
        void *const fresh = pages_.malloc(bytes + slack);
        if (fresh != nullptr) {
            set_size(fresh, bytes + slack);
        }
        return static_cast<char *>(fresh);
    }

    /// Splits a block that is in no list behind its first `size` bytes; what is behind them.
    static char *cut_locked(char *block, std::size_t size) {
        set_size(block + size, size_of(block) - size);
        set_size(block, size);
        return block + size;
    }

    char *page_locked() {
        char *const page = take_locked(superblock_size, superblock_size);
        if (page != nullptr && size_of(page) > superblock_size) {
            put_locked(cut_locked(page, superblock_size));
        }
        return page;
    }

    void put_locked(void *block) {
        Free **const at = first_not_below(size_of(block));
        auto *const link = static_cast<Free *>(block);
        link->next = *at;
        *at = link;
    }

    Free **first_not_below(std::size_t size) {
        Free **at = &free_;
        while (*at != nullptr && size_of(*at) < size) {
            at = &(*at)->next;
        }
        return at;
    }

    Pages<Source, superblock_size> pages_;
    Free *free_ = nullptr;
    char *records_ = nullptr; ///< the rest of a page of records
    std::size_t record_room_ = 0;
    std::size_t live_ = 0;
    std::size_t live_blocks_ = 0;
};

} // namespace cairn::wen_deng
