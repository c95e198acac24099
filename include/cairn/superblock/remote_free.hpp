// SPDX-License-Identifier: MIT
//
// Remote free: giving blocks back to a superblock that another heap owns.
//
// Adds:    one operation, for one block or a chain of them.
// Needs:   the superblock's SharedLine and RemoteLine, checked blocks.
// Keeps:   a push that brings the count to `notify` leaves exactly one thread to tell the owner. Each further step of
//          frees, while the owner has not come by, is told as well.
// Threads: any.
// Cost:    one compare-exchange on the remote line, one write to the last block. The owner's line is touched by the first one.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// What a remote free leaves the caller to do.
struct RemoteFree {
    enum Kind {
        nothing,
        notice, ///< to tell whoever owns the superblock by this word
        step,   ///< that one has been told, and still so much more was freed
    } kind = nothing;
    OwnerLine *superblock = nullptr; ///< unless nothing is left to do
    RemoteWord word;
    std::size_t bytes = 0; ///< freed since the last time that anybody was told, about

    bool is_done() const { return kind == nothing; }
    bool is_notice() const { return kind == notice; }
};

/// Blocks of one superblock, not more than its step, each with its link but for the last one.
struct Chain {
    std::uintptr_t first;
    std::uintptr_t last;
    unsigned count;
};

/// The owner is to look for what others have freed, from now on. relaxed, both: it finds out some time, with the first notice at the latest.
CAIRN_NOINLINE inline void note_freed_by_others(OwnerLine *s) {
    s->freed_by_others.store(true, std::memory_order_relaxed);
    shared_of(s)->freed_by_others.store(true, std::memory_order_relaxed);
}

inline RemoteFree free_remote(OwnerLine *s, Chain chain) {
    const SharedLine *const shared = shared_of(s);
    if (CAIRN_UNLIKELY(!shared->freed_by_others.load(std::memory_order_relaxed))) {
        note_freed_by_others(s);
    }
    RemoteLine *const line = remote_of(s);
    const std::size_t step = shared->step; // both read before the push: the superblock may be gone after
    const std::size_t bytes = step * shared->block_size;
    const std::uintptr_t memory = memory_of(s);
    RemoteWord now{line->word.load(std::memory_order_relaxed)}; // relaxed: a hint for the exchange
    RemoteWord next;
    do {
        const std::uint64_t link = now.empty() ? end_mark(0) : now.head_offset();
        word_of(chain.last) = link ^ shared->key;
        next = now.pushed(chain.first - memory, chain.count);
        // release: pairs with the acquire of whoever takes the list or counts it (take_remote, acknowledge,
        // let_go). acquire: pairs with their release: a push on a word of theirs sees
        // the threshold that they stored before, in the load of `notify` below.
    } while (!line->word.compare_exchange_weak(now.bits, next.bits, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
    now = next;
    // Another thread may have taken the block in meanwhile, and the superblock may be gone with its last block
    // or be another one. While a word is not empty, its superblock is there: only such a word is ever queued.
    while (!now.empty()) {
        if (now.queued()) {
            // Steps are counted from what the owner knows, as the first one was. relaxed: a hint; somebody may just set the next one.
            const std::size_t since = now.count() + step - line->notify.load(std::memory_order_relaxed);
            const bool more = now.owner() != 0 && since % step < chain.count;
            return {more ? RemoteFree::step : RemoteFree::nothing, s, now, bytes};
        }
        // relaxed: the exchange above has acquired all that it has to see.
        if (now.count() < line->notify.load(std::memory_order_relaxed)) {
            break;
        }
        const RemoteWord queued{now.bits | RemoteWord::queued_bit};
        // acquire: pairs with the exchange that last cleared `queued`: pending_next is ours to write now. Where it fails: with
        // the one that wrote the owner, who has a inbox since before that.
        if (line->word.compare_exchange_strong(now.bits, queued.bits, std::memory_order_acquire,
                                               std::memory_order_acquire)) {
            return {RemoteFree::notice, s, queued, bytes};
        }
    }
    return {};
}

inline RemoteFree free_remote(OwnerLine *s, std::uintptr_t block) {
    return free_remote(s, {block, block, 1});
}

} // namespace cairn::superblock
