// SPDX-License-Identifier: MIT
//
// Remote free: gives blocks back to a superblock of another heap.
//
// Adds:    free_remote, for one block or a chain of blocks.
// Needs:   the superblock's SharedLine and RemoteLine; blocks that were checked.
// Keeps:   a push that brings the count to `notify` leaves exactly one thread with the notice. While the owner has not
//          processed it, each further step of frees is reported to its freeing thread (RemoteFree::step).
// Threads: any.
// Cost:    one compare-exchange on the remote line, and a write to the last block. The first remote free of a
//          superblock also writes the owner's line.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// What a remote free leaves the freeing thread to do.
struct RemoteFree {
    enum Kind {
        nothing,
        notice, ///< deliver the notice to the owner that `word` names
        step,   ///< a notice is pending, and a step more was freed: count it in the owner's inbox
    } kind = nothing;
    OwnerLine *superblock = nullptr; ///< unless nothing is left to do
    RemoteWord word;
    std::size_t bytes = 0; ///< about as many were freed since the last notice or step

    bool is_done() const { return kind == nothing; }
    bool is_notice() const { return kind == notice; }
};

/// Blocks of one superblock, not more than its step; each but the last has its link.
struct Chain {
    std::uintptr_t first;
    std::uintptr_t last;
    unsigned count;
};

/// Makes the owner ask for remote frees from now on. relaxed, both: the owner sees the flag at some time, with the
/// first notice at the latest (Notices::acknowledge).
CAIRN_NOINLINE inline void note_freed_by_others(OwnerLine *s) {
    s->freed_by_others.store(true, std::memory_order_relaxed);
    shared_of(s)->freed_by_others.store(true, std::memory_order_relaxed);
}

/// Pushes a chain of checked blocks onto the superblock's remote list.
inline RemoteFree free_remote(OwnerLine *s, Chain chain) {
    const SharedLine *const shared = shared_of(s);
    if (CAIRN_UNLIKELY(!shared->freed_by_others.load(std::memory_order_relaxed))) {
        note_freed_by_others(s);
    }
    RemoteLine *const line = remote_of(s);
    // Read before the push: after it the superblock may be gone.
    const std::size_t step = shared->step;
    const std::size_t bytes = step * shared->block_size;
    const std::uintptr_t memory = memory_of(s);
    RemoteWord now{line->word.load(std::memory_order_relaxed)}; // relaxed: a hint for the exchange
    RemoteWord next;
    do {
        const std::uint64_t link = now.empty() ? end_mark(0) : now.head_offset();
        word_of(chain.last) = link ^ shared->key;
        next = now.pushed(chain.first - memory, chain.count);
        // release: pairs with the acquire of the thread that takes the list or counts it (take_remote, acknowledge,
        // let_go). acquire: pairs with their release: a push on a word of theirs sees, in the load of `notify` below,
        // the threshold that they stored before.
    } while (!line->word.compare_exchange_weak(now.bits, next.bits, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
    now = next;
    // From here on another thread may have taken the blocks, and the superblock may be gone with its last block, or be
    // another one. While its word is not empty, the superblock is there: only such a word gets the queued bit.
    while (!now.empty()) {
        if (now.queued()) {
            // A notice is pending. Steps are counted from the threshold of that notice. relaxed: a hint; the owner may
            // be setting the next threshold.
            const std::size_t since = now.count() + step - line->notify.load(std::memory_order_relaxed);
            const bool more = now.owner() != 0 && since % step < chain.count;
            return {more ? RemoteFree::step : RemoteFree::nothing, s, now, bytes};
        }
        // relaxed: the exchange above has acquired the threshold that this word goes with.
        if (now.count() < line->notify.load(std::memory_order_relaxed)) {
            break;
        }
        const RemoteWord queued{now.bits | RemoteWord::queued_bit};
        // acquire: pairs with the exchange that last cleared `queued`: this thread may write pending_next now. Where
        // the exchange fails, acquire pairs with the one that wrote the owner, whose inbox was made before.
        if (line->word.compare_exchange_strong(now.bits, queued.bits, std::memory_order_acquire,
                                               std::memory_order_acquire)) {
            return {RemoteFree::notice, s, queued, bytes};
        }
    }
    return {};
}

/// Pushes one checked block onto the superblock's remote list.
inline RemoteFree free_remote(OwnerLine *s, std::uintptr_t block) {
    return free_remote(s, {block, block, 1});
}

} // namespace cairn::superblock
