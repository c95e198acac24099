// SPDX-License-Identifier: MIT
//
// The superblock of Wen and Deng: a page of equal blocks, and the record that says whose it is.
//
// Adds:    the size classes; the header before each block; the record: taking and putting blocks, the back pointer
//          to the owner with its mutex and reference count.
// Needs:   Parameters (allocators/wen_deng.hpp); Links (wen_deng_links.hpp).
// Keeps:   a block is carved, and its header written, when it is needed first (section 2.5); after that nobody
//          writes the header. s.u counts whole blocks (section 2.2). A superblock keeps its class for life.
// Threads: `owner` changes under the back pointer mutex and the locks of both heaps, so each of the three is enough
//          to read it. `references` counts the frees between reading `owner` and having that heap's lock: they are
//          counted up under the back pointer mutex, down under the heap's lock. `mutex` is the one of free's line 3.
//          All else is under the owner's lock.
// Cost:    two cache lines a superblock, and what Links needs.
// Source:  Wen and Deng, sections 1.1, 2.1, 2.2, 2.4 and 2.5.
#pragma once

#include <cairn/family/wen_deng_links.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn::wen_deng {

inline void check([[maybe_unused]] bool holds, [[maybe_unused]] const char *what) {
    if constexpr (platform::checked) {
        if (!holds) {
            platform::fatal({"wen-deng: ", what});
        }
    }
}

/// Before each block: the record of its superblock, or of a raw block its size with `raw_mark`.
using Header = std::uintptr_t;
inline constexpr Header raw_mark = 1;

inline Header &header_of(void *block) {
    return static_cast<Header *>(block)[-1];
}
inline Header header_of(const void *block) {
    return static_cast<const Header *>(block)[-1];
}

/// Powers of two from 16 to S/2, of which the header takes 8 bytes: 8, 24, 56 ... S/2 - 8 are left (section 1.1).
template <std::size_t S>
struct BlockClasses {
    static constexpr std::size_t smallest_block = 16;
    using Blocks = PowersOfTwo<smallest_block, log2_exact(S / 2 / smallest_block) + 1>;

    static constexpr unsigned count = Blocks::count;
    static constexpr std::size_t largest = Blocks::largest - sizeof(Header);

    static constexpr std::size_t block_of(unsigned c) { return Blocks::size_of(c); }
    static constexpr std::size_t size_of(unsigned c) { return Blocks::size_of(c) - sizeof(Header); }
    static constexpr unsigned class_of(std::size_t size) { return Blocks::class_of(size + sizeof(Header)); }
};
static_assert(SizeClasses<BlockClasses<4096>>);
static_assert(BlockClasses<4096>::count == 8 && BlockClasses<4096>::largest == 2040);
static_assert(BlockClasses<4096>::size_of(0) == 8 && BlockClasses<4096>::size_of(1) == 24);

template <class Parameters, class Links>
class OwnerHeap;

template <class Parameters, class Links>
struct alignas(platform::cache_line) Superblock {
    static constexpr std::size_t superblock_size = Parameters::superblock_size;
    using Classes = BlockClasses<superblock_size>;
    using FreeList = typename Links::template List<superblock_size / Classes::smallest_block>;

    /// Bytes of the record of a superblock of class c.
    static constexpr std::size_t record_size(unsigned c) {
        return sizeof(Superblock) +
               align_up(FreeList::bytes_for(superblock_size / Classes::block_of(c)), platform::cache_line);
    }

    Superblock(unsigned c, char *first, OwnerHeap<Parameters, Links> *of)
        : blocks{first, log2_exact(Classes::block_of(c))}, freed(this + 1), size_class(c), owner(of) {}

    std::size_t block_size() const { return Classes::block_of(size_class); }
    bool full() const { return used == superblock_size; }

    /// At least f of it is free.
    bool mostly_empty() const {
        return used * Parameters::emptiness_denominator <=
               superblock_size * (Parameters::emptiness_denominator - Parameters::emptiness_numerator);
    }

    void *take() {
        used += block_size();
        if (freed.length() != 0) {
            return freed.pop(blocks);
        }
        void *const block = blocks.at(carved++);
        header_of(block) = reinterpret_cast<Header>(this);
        return block;
    }

    void put(void *block) {
        check(used >= block_size(), "more blocks were freed than the superblock has handed out");
        used -= block_size();
        freed.push(blocks, block);
    }

    bool accounts_agree() const {
        return used == (carved - freed.length()) * block_size() && used <= superblock_size &&
               carved * block_size() <= superblock_size;
    }

    Superblock *next = nullptr; ///< in the owner's list
    Superblock *previous = nullptr;
    std::size_t used = 0; ///< s.u
    const Blocks blocks;
    std::size_t carved = 0; ///< blocks from here on were never used
    FreeList freed;
    const unsigned size_class;

    std::atomic<unsigned> references{0};
    OwnerHeap<Parameters, Links> *owner;
    sync::Lock back_pointer{sync::Rank::owner};
    sync::Lock mutex{sync::Rank::superblock};
};

} // namespace cairn::wen_deng
