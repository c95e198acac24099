// SPDX-License-Identifier: MIT
//
// Links of free blocks: where the list of a superblock's freed blocks is written down. The one difference between
// wen-deng and wen-deng-apart.
//
// Adds:    LinksInBlocks, the report's own: the first word of a free block is the link, so a free writes into the
//          block. LinksApart, the report's fix: one small number a block, all of a superblock's together behind its
//          record.
// Needs:   blocks of one power of two bytes, behind each other.
// Keeps:   the block freed last is handed out first. LinksApart reads and writes no byte of a block.
// Threads: the owner of the superblock's heap lock.
// Cost:    LinksInBlocks: a cache line a free. LinksApart: one or two bytes a block, 64 links or 32 to a cache line.
// Source:  Wen and Deng, sections 2.1 (blocks in LIFO order), 2.6 and 3.2.2 (the flaw and the fix).
#pragma once

#include <cairn/core/bits.hpp>

#include <type_traits>

namespace cairn::wen_deng {

/// Where a superblock's blocks are.
struct Blocks {
    char *first;
    unsigned shift; ///< log2 of their distance

    void *at(std::size_t index) const { return first + (index << shift); }
    std::size_t index_of(const void *block) const {
        return static_cast<std::size_t>(static_cast<const char *>(block) - first) >> shift;
    }
};

struct LinksInBlocks {
    template <std::size_t MostBlocks>
    class List {
    public:
        explicit List(void *) {}

        static constexpr std::size_t bytes_for(std::size_t) { return 0; }

        std::size_t length() const { return length_; }

        void push(const Blocks &, void *block) {
            auto *const link = static_cast<Link *>(block);
            link->next = first_;
            first_ = link;
            ++length_;
        }

        void *pop(const Blocks &) {
            Link *const link = first_;
            first_ = link->next;
            --length_;
            return link;
        }

    private:
        struct Link {
            Link *next;
        };

        Link *first_ = nullptr;
        std::size_t length_ = 0;
    };
};

struct LinksApart {
    template <std::size_t MostBlocks>
    class List {
        using Index = std::conditional_t<MostBlocks <= 256, std::uint8_t, std::uint16_t>;
        static_assert(MostBlocks <= 65536, "more blocks in a superblock than a link can tell apart");

    public:
        /// `room`: bytes_for(the superblock's blocks) bytes.
        explicit List(void *room) : next_(static_cast<Index *>(room)) {}

        static constexpr std::size_t bytes_for(std::size_t blocks) { return blocks * sizeof(Index); }

        std::size_t length() const { return length_; }

        void push(const Blocks &blocks, void *block) {
            const auto index = static_cast<Index>(blocks.index_of(block));
            next_[index] = first_; // of the last block in the list: any number, the length ends the list
            first_ = index;
            ++length_;
        }

        void *pop(const Blocks &blocks) {
            void *const block = blocks.at(first_);
            first_ = next_[first_];
            --length_;
            return block;
        }

    private:
        Index *next_;
        std::size_t length_ = 0;
        Index first_ = 0;
    };
};

} // namespace cairn::wen_deng
