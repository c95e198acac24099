// SPDX-License-Identifier: MIT
//
// Gathering: remote frees of one superblock after another in few operations. A heap links the blocks that its thread frees of
// others' superblocks, and gives each chain back as a whole.
//
// Adds:    a chain for each of some size classes, with a superblock and the chain of its blocks.
// Needs:   free_remote, and SharedLine::gather.
// Keeps:   a chain begins with the second free of its superblock in a row, so frees that go here and there wait for nothing. A chain is at
//          most SharedLine::gather blocks long, all of them together take no more than `most_bytes`. Its blocks are live for
//          everybody, and marked as free: a second free of one is known by `holds`.
// Threads: one at a time (ThreadHeap), but for `holds` and `count_as_free`: any.
// Cost:    two writes to the block, one to the chain; a compare-exchange a chain.
// Source:  snmalloc gathers what it sends to another thread: Liétar and others, "snmalloc: a message passing allocator", 2019. Here
//          the superblock is the address, and nobody forwards.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/superblock/gathered_chain.hpp>

namespace cairn {

class Gathering {
public:
    using Chain = GatheredChain;
    using Left = superblock::RemoteFree; ///< what a chain that was given back leaves to do

    static constexpr unsigned chains = 32;
    static constexpr std::size_t most_bytes = chains * Chain::most_bytes;

    /// What several leave to do: for later, when no lock is held and no section is on.
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

    /// Before that, nothing is gathered.
    void open() { open_ = true; }
    bool is_open() const { return open_; }

    Chain &chain_of(const SharedLine *shared) { return chains_[shared->size_class % chains]; }

    /// For who looks at all chains while nobody changes them.
    template <class Look>
    void for_each(Look look) const {
        for (const Chain &chain : chains_) {
            if (!chain.empty()) {
                look(chain);
            }
        }
    }

    /// All chains.
    AllLeft give_all() {
        AllLeft all;
        for (Chain &chain : chains_) {
            if (!chain.empty()) {
                all.add(chain.give());
            }
        }
        return all;
    }

    /// For statistics, in which the superblocks' counts have what is gathered as live. Any thread: what changes meanwhile may be missing.
    void count_as_free(Statistics &out) const {
        for_each([&](const Chain &chain) {
            const OwnerLine *const s = chain.superblock();
            if (s == nullptr) { // its chain is being used for the first time
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

    /// The chains in turn: who gives back one a slow path keeps no chain for long.
    Chain &next() { return chains_[next_++ % chains]; }

    /// Whether `block` of the superblock is in a chain here.
    bool holds(const OwnerLine *s, std::uintptr_t block) { return chain_of(shared_of(s)).holds(s, block); }

    /// In the child of a fork, whose thread is not there: before blocks are counted.
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
