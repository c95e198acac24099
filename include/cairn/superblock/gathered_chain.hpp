// SPDX-License-Identifier: MIT
//
// Gathered chain: blocks of one superblock that a thread has freed and keeps, to give them back in one operation.
//
// Adds:    add, give; whether a block is in it.
// Needs:   free_remote, and SharedLine::gather, the length of its superblock's chains.
// Keeps:   each block but the last has its link, the last the end mark: all look free, as in the lists that they go to.
// Threads: one at a time (ThreadHeap), but for the questions: any, as a hint.
// Cost:    add: a write to the block, three to the chain. give: a compare-exchange.
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

    /// How long chains may be: a step at most, which is told once. 0: none.
    static constexpr std::uint8_t limit_of(unsigned slots, std::size_t block_size, unsigned step) {
        const std::size_t limit =
            std::min({most_bytes / block_size, std::size_t{most_blocks}, std::size_t{step}});
        return slots == 1 && limit > 1 ? static_cast<std::uint8_t>(limit) : 0;
    }

    OwnerLine *superblock() const { return superblock_.load(std::memory_order_relaxed); }
    std::uint32_t count() const { return count_.load(std::memory_order_relaxed); }
    bool is_of(const OwnerLine *s) const { return superblock() == s; }
    bool empty() const { return count() == 0; }

    /// The chain is empty, and will be of this superblock. Its thread may do this outside of sections: nobody else uses an empty one.
    void change_to(OwnerLine *s) { superblock_.store(s, std::memory_order_relaxed); }

    /// A block of the chain's superblock. True when the chain is as long as it may be.
    bool add(const SharedLine *shared, std::uintptr_t block) {
        const std::uint32_t before = count();
        if (before == 0) {
            last_ = static_cast<std::uint32_t>(block % slot_size);
        }
        push(shared, block, before != 0 ? first() : superblock::end_mark(0), before);
        return before + 1 >= shared->gather;
    }

    /// The same where the chain is of this superblock, has begun and goes on; else false, and nothing has happened.
    CAIRN_INLINE bool join(const OwnerLine *s, const SharedLine *shared, std::uintptr_t block) {
        const std::uint32_t before = count();
        if (!is_of(s) || before == 0 || before + 1 >= shared->gather) {
            return false;
        }
        push(shared, block, first(), before);
        return true;
    }

    /// The chain, which is not empty. It is here until it is there, for `holds`. Meanwhile it is not sound: in the child of a fork nobody
    /// knows where it is. The exchange in free_remote() keeps the two stores apart.
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

    bool holds(const OwnerLine *s, std::uintptr_t block) const {
        const std::uintptr_t memory = memory_of(s);
        return is_of(s) && !empty() &&
               superblock::list_holds(memory + first(), block, shared_of(s)->key ^ memory, slot_size,
                                      most_blocks);
    }

    /// In the child of a fork, which may have come while a block was added, or the chain was given: whether it is whole, and
    /// here.
    bool sound() const {
        OwnerLine *const s = superblock();
        unsigned length = 0;
        return !empty() && superblock::count_list(s, memory_of(s) + first(), length) && length == count();
    }

    void forget() { count_.store(0, std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t on_its_way_ = 1u << 31;

    /// Puts the block in front of a chain of `before` blocks. `next`: the offset of the block behind it, or the end mark.
    CAIRN_INLINE void push(const SharedLine *shared, std::uintptr_t block, std::uint64_t next,
                           std::uint32_t before) {
        superblock::word_of(block) = shared->key ^ next;
        first_.store(static_cast<std::uint32_t>(block % slot_size), std::memory_order_relaxed);
        count_.store(before + 1, std::memory_order_relaxed);
    }

    // relaxed, all: others but look for a block (holds); what a visitor does is ordered by sync::Presence.
    std::uint32_t first() const { return first_.load(std::memory_order_relaxed); }

    std::atomic<OwnerLine *> superblock_{nullptr};
    std::atomic<std::uint32_t> first_{0}; ///< offsets of blocks
    std::uint32_t last_ = 0;
    std::atomic<std::uint32_t> count_{0};
};

} // namespace cairn
