// SPDX-License-Identifier: MIT
//
// Gathered chain: blocks of one superblock that a thread has freed and keeps, to give them back by one operation.
//
// Adds:    add, join, give; whether a block is in the chain.
// Needs:   free_remote, and SharedLine::gather, the greatest length of chains of this superblock.
// Keeps:   the blocks are linked as in the lists that they go to: each has a link, the last one has the end mark, and
//          so each has its signature.
// Threads: one at a time (ThreadHeap); superblock, count, is_of, empty and holds: any, as hints.
// Cost:    add: a write to the block, two or three to the chain. give: a compare-exchange.
#pragma once

#include <cairn/superblock/block_check.hpp>
#include <cairn/superblock/recount.hpp>
#include <cairn/superblock/remote_free.hpp>

#include <algorithm>

namespace cairn {

class GatheredChain {
public:
    static constexpr std::size_t most_bytes = 4_KiB;
    static constexpr unsigned most_blocks = 32;

    /// The greatest length of a chain of a superblock, 0 for none. Not more than `step`, the number of remote frees
    /// between two notices: a chain crosses at most one notice threshold.
    static constexpr std::uint8_t limit_of(unsigned slots, std::size_t block_size, unsigned step) {
        const std::size_t limit =
            std::min({most_bytes / block_size, std::size_t{most_blocks}, std::size_t{step}});
        return slots == 1 && limit > 1 ? static_cast<std::uint8_t>(limit) : 0;
    }

    OwnerLine *superblock() const { return superblock_.load(std::memory_order_relaxed); }
    std::uint32_t count() const { return count_.load(std::memory_order_relaxed); }
    bool is_of(const OwnerLine *s) const { return superblock() == s; }
    bool empty() const { return count() == 0; }

    /// The chain is empty and gets another superblock. The thread may do this outside of a section: no other thread
    /// uses an empty chain.
    void change_to(OwnerLine *s) { superblock_.store(s, std::memory_order_relaxed); }

    /// Puts a block of the chain's superblock into the chain. True when the chain has got its greatest length.
    bool add(const SharedLine *shared, std::uintptr_t block) {
        const std::uint32_t before = count();
        if (before == 0) {
            last_ = static_cast<std::uint32_t>(block % slot_size);
        }
        push(shared, block, before != 0 ? first() : superblock::end_mark(0), before);
        return before + 1 >= shared->gather;
    }

    /// Puts a block of superblock `s` into the chain if the chain is of this superblock, has a block already, and
    /// stays shorter than its greatest length. False if not: then nothing has changed.
    CAIRN_INLINE bool join(const OwnerLine *s, const SharedLine *shared, std::uintptr_t block) {
        const std::uint32_t before = count();
        if (!is_of(s) || before == 0 || before + 1 >= shared->gather) {
            return false;
        }
        push(shared, block, first(), before);
        return true;
    }

    /// Gives the blocks of the chain, which is not empty, back to their superblock. holds() finds them in the chain
    /// until they are in the superblock's remote list: the exchange in free_remote() lies between the two stores of
    /// the count. Between these stores sound() is false, since a fork child can not tell where the blocks are.
    superblock::RemoteFree give() {
        OwnerLine *const s = superblock();
        const std::uintptr_t memory = memory_of(s);
        const std::uint32_t blocks = count();
        count_.store(blocks | on_its_way_, std::memory_order_relaxed);
        const superblock::RemoteFree left =
            superblock::free_remote(s, {memory + first(), memory + last_, blocks});
        count_.store(0, std::memory_order_relaxed);
        return left;
    }

    /// Whether the block of superblock `s` is in the chain. A hint.
    bool holds(const OwnerLine *s, std::uintptr_t block) const {
        const std::uintptr_t memory = memory_of(s);
        return is_of(s) && !empty() &&
               superblock::list_holds(memory + first(), block, shared_of(s)->key ^ memory, slot_size,
                                      most_blocks);
    }

    /// In the child of a fork, where the thread may have stopped inside add() or give(): whether the chain is whole,
    /// and not given back.
    bool sound() const {
        OwnerLine *const s = superblock();
        unsigned length = 0;
        return !empty() && superblock::count_list(s, memory_of(s) + first(), length) && length == count();
    }

    void forget() { count_.store(0, std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t on_its_way_ = 1u << 31; ///< in the count, while give() runs

    /// Puts the block in front of a chain of `before` blocks. `next`: the offset of the block behind it, or the end
    /// mark.
    CAIRN_INLINE void push(const SharedLine *shared, std::uintptr_t block, std::uint64_t next,
                           std::uint32_t before) {
        superblock::word_of(block) = shared->key ^ next;
        first_.store(static_cast<std::uint32_t>(block % slot_size), std::memory_order_relaxed);
        count_.store(before + 1, std::memory_order_relaxed);
    }

    // relaxed, all: other threads only look for a block (holds); a visiting thread's accesses are ordered by
    // sync::Presence.
    std::uint32_t first() const { return first_.load(std::memory_order_relaxed); }

    std::atomic<OwnerLine *> superblock_{nullptr};
    std::atomic<std::uint32_t> first_{0}; ///< the first block's offset in its superblock, and the last one's
    std::uint32_t last_ = 0;
    std::atomic<std::uint32_t> count_{0};
};

} // namespace cairn
