// SPDX-License-Identifier: MIT
//
// Gathering: remote frees into one superblock after another, in few operations. A heap links the blocks that its
// thread frees into superblocks of other heaps, and gives each chain back as a whole.
//
// Adds:    chains, each for some of the size classes, with a superblock and its blocks.
// Needs:   free_remote, and SharedLine::gather.
// Keeps:   a chain begins with the second consecutive free into its superblock, so that scattered frees are never
//          delayed. A chain has at most SharedLine::gather blocks; all chains of a heap have at most `most_bytes`.
//          Its blocks are live for the superblock's counts, and have their signatures: `holds` finds a second free of
//          one.
// Threads: one at a time (ThreadHeap); `holds` and `count_as_free`: any.
// Cost:    two writes to the block and one to the chain for each free; a compare-exchange for each chain.
// Source:  snmalloc gathers the messages that it sends to another thread: Liétar and others, "snmalloc: a message
//          passing allocator", 2019. Here a chain is addressed to a superblock, and no thread passes it on.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/superblock/gathered_chain.hpp>

namespace cairn {

class Gathering {
public:
    using Chain = GatheredChain;
    /// What is left to do after a chain was given back: perhaps a notice.
    using Left = superblock::RemoteFree;

    static constexpr unsigned chains = 32;
    static constexpr std::size_t most_bytes = chains * Chain::most_bytes;

    /// What is left to do after several chains were given back, for the time when the thread holds no lock and is in
    /// no section.
    class AllLeft {
    public:
        void add(const Left &left) { left_[count_++] = left; }
        const Left *begin() const { return left_; }
        const Left *end() const { return left_ + count_; }

    private:
        Left left_[chains];
        unsigned count_ = 0;
    };

    constexpr Gathering() = default;

    /// Nothing is gathered before this. The placeholder heaps of threads without a heap (PerThread) are never opened.
    void open() { open_ = true; }
    bool is_open() const { return open_; }

    /// The chain for blocks of this superblock.
    Chain &chain_of(const SharedLine *shared) { return chains_[shared->size_class % chains]; }

    /// look(chain) for each chain that is not empty. For a caller that no other thread disturbs, or that needs only
    /// hints.
    template <class Look>
    void for_each(Look look) const {
        for (const Chain &chain : chains_) {
            if (!chain.empty()) {
                look(chain);
            }
        }
    }

    /// Gives back all chains.
    AllLeft give_all() {
        AllLeft all;
        for (Chain &chain : chains_) {
            if (!chain.empty()) {
                all.add(chain.give());
            }
        }
        return all;
    }

    /// Corrects statistics, in which the superblocks' counts have the gathered blocks as live. Any thread: blocks
    /// that are gathered or given back meanwhile may be missed.
    void count_as_free(Statistics &out) const {
        for_each([&](const Chain &chain) {
            const OwnerLine *const s = chain.superblock();
            if (s == nullptr) { // the chain is being used for the first time
                return;
            }
            SizeClassStatistics &c = out.by_class[s->size_class % out.size_classes];
            const std::uint64_t blocks = chain.count();
            if (blocks <= Chain::most_blocks && blocks <= c.live_blocks) {
                c.live_blocks -= blocks;
                c.free_blocks += blocks;
                out.small_live -= blocks * c.block_size;
            }
        });
    }

    /// The chains in turn: a thread that gives back one of them in each slow path keeps no chain for long.
    Chain &next() { return chains_[next_++ % chains]; }

    /// Whether `block` of the superblock is in a chain here.
    bool holds(const OwnerLine *s, std::uintptr_t block) { return chain_of(shared_of(s)).holds(s, block); }

    /// In the child of a fork, for a heap whose thread the child does not have, before blocks are counted: gives back
    /// the chains that are whole and forgets the others.
    void publish_after_fork() {
        for (Chain &chain : chains_) {
            if (chain.sound()) {
                chain.give();
            }
            chain.forget();
        }
    }

private:
    Chain chains_[chains];
    unsigned next_ = 0;
    bool open_ = false;
};

} // namespace cairn
