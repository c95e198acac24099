// SPDX-License-Identifier: MIT
//
// IbmFreelist: a lock-free stack of the free blocks in an array of equally long blocks, linked through the blocks.
//
// Adds:    pop and push of block numbers; the exact number of free blocks.
// Needs:   an array of at most 65,535 blocks of at least 2 bytes, aligned to 2, that stays mapped: a thread in pop()
//          may read the link of a block that another thread has popped and the program already uses. For a list on
//          which all blocks are free at first, the array is zeroed.
// Keeps:   one 64-bit word holds the number of the first block, the count, and a 32-bit version that each operation
//          increments. A compare-exchange by a thread that was delayed fails when the list has changed (the ABA
//          problem), unless exactly 2^32 operations took place during the delay.
//          Zeroed blocks are linked in order of address (block_link.hpp), and no block is touched before it is popped.
//          The link of the last block is never followed: the count says where the list ends.
// Threads: any; lock-free.
// Errors:  pop() returns `none` when no block is free; in a build with assertions, a push of more blocks than the array
//          has ends the process.
// Cost:    a compare-exchange each way.
// Source:  NBmalloc, section 5 and Fig. 3: Get_Block, Put_Block; there the count is a word of its own, changed by a
//          fetch-and-add after the fact, and only an estimate.
#pragma once

#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/block_link.hpp>

#include <atomic>
#include <cstdint>

namespace cairn::sync {

class IbmFreelist {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Popped {
        std::uint32_t block; ///< number of the popped block, or `none`
        std::uint32_t left;  ///< number of blocks that are still free
    };

    /// Before other threads know the list: `count` zeroed blocks are free, from number `first` on. relaxed: the store
    /// that makes the list known to other threads orders this one.
    void set_alone(std::uint32_t first, std::uint32_t count) {
        head_.store(Head{first, count, 0}.bits(), std::memory_order_relaxed);
    }

    /// Takes the first free block. (The paper's Get_Block.)
    Popped pop(const char *row, unsigned shift) {
        Head old{load()};
        while (old.count != 0) {
            const std::uint32_t next = BlockLink::next(row + (std::size_t{old.first} << shift), old.first);
            if (change(old, Head{next, old.count - 1u, old.version + 1u})) {
                return {old.first, old.count - 1u};
            }
        }
        return {none, 0};
    }

    /// Puts a block first. Returns how many blocks of `capacity` are free now. (The paper's Put_Block.)
    std::uint32_t push(char *row, unsigned shift, std::uint32_t block, std::uint32_t capacity) {
        char *const freed = row + (std::size_t{block} << shift);
        Head old{load()};
        do {
            if constexpr (platform::checked) {
                if (old.count >= capacity) {
                    platform::fatal({"more blocks were freed than there are: ", freed});
                }
            }
            BlockLink::set(freed, block, old.first); // change() releases it
        } while (!change(old, Head{block, old.count + 1u, old.version + 1u}));
        return old.count + 1u;
    }

    /// How many blocks are free. seq_cst: a thread that has put a superblock into a slot, or taken it out, reads the
    /// count after that; see docs/nbmalloc.md, "Full superblocks".
    std::uint32_t count() const { return Head{head_.load(std::memory_order_seq_cst)}.count; }

private:
    struct Head {
        std::uint32_t first, count, version;

        Head(std::uint32_t f, std::uint32_t n, std::uint32_t v) : first(f), count(n), version(v) {}
        explicit Head(std::uint64_t bits)
            : first(bits & 0xffff), count(bits >> 16 & 0xffff),
              version(static_cast<std::uint32_t>(bits >> 32)) {}
        std::uint64_t bits() const { return first | count << 16 | std::uint64_t{version} << 32; }
    };

    /// acquire: pairs with change() of the thread that pushed the first block: the link of that block is visible.
    std::uint64_t load() const { return head_.load(std::memory_order_acquire); }

    /// seq_cst, which includes the release that publishes link and contents to the thread that pops the block next, and
    /// the acquire that receives them: a push must be ordered before the load of the superblock's state that follows
    /// it.
    bool change(Head &old, Head desired) {
        std::uint64_t bits = old.bits();
        const bool done = head_.compare_exchange_weak(bits, desired.bits(), std::memory_order_seq_cst,
                                                      std::memory_order_acquire);
        old = done ? old : Head{bits};
        return done;
    }

    std::atomic<std::uint64_t> head_{0};
};

} // namespace cairn::sync
