// SPDX-License-Identifier: MIT
//
// HoardSuperblock: S bytes cut into blocks of one size class, with a header at their start.
//
// Adds:    format, pop, push, and the way from a block to its header.
// Needs:   S bytes at a multiple of S. S is a power of two.
// Keeps:   free blocks are linked through their first word, LIFO; those that were never handed out are carved when
//          the list is empty, so a superblock's pages are touched as they are needed. The header of a block lies at
//          most S bytes below it, at the multiple of S before it: true for large blocks too (hoard_large.hpp).
// Threads: `owner` any; the rest who holds the lock of the owner. `lock` is free's: the superblock is locked before
//          the heap that owns it.
// Cost:    some ten instructions each way; 64 bytes a superblock.
// Source:  Hoard, section 3: superblocks, LIFO blocks; section 3.4: each has an owner. Carving: Wen and Deng, "CSC469
//          A2 Report", section 2.5.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/lock.hpp>

#include <atomic>

namespace cairn {

/// What a superblock knows of the heap that owns it.
struct HoardOwner {
    explicit constexpr HoardOwner(sync::Rank rank) : lock(rank) {}
    sync::Lock lock;
};

/// What stands before every block of a Hoard.
struct HoardHeader {
    /// nullptr for a large block, whose header never changes. Else it changes under the locks of both heaps, so
    /// that it may be read without a lock, and must be read again under that of the heap that was found.
    /// relaxed everywhere: the lock orders the rest.
    std::atomic<HoardOwner *> owner{nullptr};

    template <std::size_t S>
    static HoardHeader *of(const void *block) {
        return reinterpret_cast<HoardHeader *>(align_down(address_of(block) - 1, S));
    }
    bool is_large() const { return owner.load(std::memory_order_relaxed) == nullptr; }
};

template <std::size_t S>
struct alignas(platform::cache_line) HoardSuperblock : HoardHeader {
    static_assert(is_power_of_two(S) && S >= 4_KiB && S <= 64_KiB, "offsets have 16 bits");

    sync::Lock lock{sync::Rank::superblock};
    HoardSuperblock *next = nullptr; ///< links of the list of hoard_groups.hpp, a ring
    HoardSuperblock *previous = nullptr;
    HoardSuperblock *older_chunk = nullptr; ///< in a chunk's first superblock: that of the chunk before
    std::uint32_t reciprocal = 0;           ///< of block_size, in 2^-32
    std::uint16_t block_size = 0;
    std::uint16_t capacity = 0;
    std::uint16_t live = 0;
    std::uint16_t carved = 0;
    std::uint16_t in_chunk = 0; ///< in a chunk's first superblock: how many superblocks the chunk is
    std::uint8_t size_class = 0;
    std::uint8_t group = 0;

    static constexpr std::size_t capacity_for(std::size_t size) {
        return (S - sizeof(HoardSuperblock)) / size;
    }

    /// For an empty superblock: its blocks are of `size` bytes from now on.
    void format(unsigned size_class_now, std::size_t size) {
        reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / size + 1);
        block_size = static_cast<std::uint16_t>(size);
        capacity = static_cast<std::uint16_t>(capacity_for(size));
        size_class = static_cast<std::uint8_t>(size_class_now);
        carved = 0;
        free_ = nullptr;
    }

    /// s.u of the paper, and the share of the superblock that is blocks at all.
    std::size_t used() const { return std::size_t{live} * block_size; }
    std::size_t room() const { return std::size_t{capacity} * block_size; }

    /// live < capacity.
    void *pop() {
        ++live;
        if (free_ == nullptr) {
            return memory() + std::size_t{carved++} * block_size;
        }
        Block *const block = free_;
        free_ = block->next;
        return block;
    }

    /// `p` lies in a live block of this superblock.
    void push(void *p) {
        if constexpr (platform::checked) {
            if (live == 0) {
                platform::fatal({"free of ", p, " in a superblock that has no live block"});
            }
        }
        auto *const block = static_cast<Block *>(start_of(p));
        block->next = free_;
        free_ = block;
        --live;
    }

    /// The block that `p` lies in. The product is exact enough: offsets are below 2^16, so is what they are divided by.
    void *start_of(void *p) const {
        const std::size_t offset = address_of(p) - address_of(memory());
        const std::size_t index = offset * std::uint64_t{reciprocal} >> 32;
        return static_cast<char *>(p) - (offset - index * block_size);
    }

private:
    struct Block {
        Block *next;
    };

    char *memory() { return reinterpret_cast<char *>(this + 1); }
    const char *memory() const { return reinterpret_cast<const char *>(this + 1); }

    Block *free_ = nullptr;
};

static_assert(sizeof(HoardSuperblock<8_KiB>) == platform::cache_line);

} // namespace cairn
