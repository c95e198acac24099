// SPDX-License-Identifier: MIT
//
// Remote free: giving a block back to a superblock that another heap owns.
//
// Adds:    one operation.
// Needs:   the superblock's SharedLine, a checked block.
// Keeps:   a push that brings the count to `notify` leaves exactly one thread to tell the owner.
// Threads: any.
// Cost:    one compare-exchange on the shared line, one write to the block. The owner's line is not touched.
#pragma once

#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// Queued: the caller has to tell whoever owns the superblock by this word.
inline RemoteWord free_remote(OwnerLine *s, std::uintptr_t block) {
    SharedLine *const shared = shared_of(s);
    const std::uintptr_t memory = memory_of(s);
    RemoteWord now{shared->remote.load(std::memory_order_relaxed)}; // relaxed: a hint for the exchange
    RemoteWord next;
    do {
        const std::uintptr_t link = now.empty() ? end_mark(memory) : memory + now.head_offset();
        word_of(block) = link ^ shared->cookie;
        next = now.pushed(block - memory);
        // release: pairs with the acquire of whoever takes the list (collect, take_notices), and of
        // GlobalHeap::release and look_at. acquire: pairs with their release: a push on a word of theirs sees
        // the threshold that they stored before, in the load of `notify` below.
    } while (!shared->remote.compare_exchange_weak(now.bits, next.bits, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed));
    now = next;
    // Another thread may have taken the block in meanwhile, and the superblock may be gone with its last block
    // or be another one. While a word is not empty, its superblock is there: only such a word is ever queued.
    while (!now.empty() && !now.queued() && now.count() >= shared->notify.load(std::memory_order_seq_cst)) {
        const RemoteWord queued{now.bits | RemoteWord::queued_bit};
        // acquire: pairs with the exchange that last cleared `queued`: pending_next is ours to write now.
        if (shared->remote.compare_exchange_strong(now.bits, queued.bits, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed)) {
            return queued;
        }
    }
    return {};
}

} // namespace cairn::superblock
