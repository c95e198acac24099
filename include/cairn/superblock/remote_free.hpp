// SPDX-License-Identifier: MIT
//
// Remote free: giving a block back to a superblock that another heap owns.
//
// Adds:    one operation.
// Needs:   the superblock's SharedLine, a checked block, and a global heap that delivers notices.
// Keeps:   a push that brings the count to `notify` leaves somebody responsible for telling the owner.
// Threads: any.
// Cost:    one compare-exchange on the shared line, one write to the block. The owner's line is not touched.
#pragma once

#include <cairn/superblock/pending.hpp>
#include <cairn/superblock/superblock.hpp>

namespace cairn::superblock {

/// The tray of the heap that was told of it, nullptr for none.
template <class Global>
PendingSuperblocks *free_remote(Global &global, SharedLine *shared, std::uintptr_t memory,
                                std::uintptr_t block) {
    RemoteWord now{shared->remote.load(std::memory_order_relaxed)};
    RemoteWord next;
    do {
        const std::uintptr_t link = now.empty() ? end_mark(memory) : memory + now.head_offset();
        word_of(block) = link ^ shared->cookie;
        next = now.pushed(block - memory);
        // release: pairs with the acquire of whoever takes the list. seq_cst: with the load of `notify`
        // below, against the store of `notify` and the load of this word in GlobalHeap::look_at.
    } while (!shared->remote.compare_exchange_weak(now.bits, next.bits, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed));
    now = next;
    while (now.count() >= shared->notify.load(std::memory_order_seq_cst) && !now.queued()) {
        if (shared->remote.compare_exchange_strong(now.bits, now.bits | RemoteWord::queued_bit,
                                                   std::memory_order_acq_rel, std::memory_order_relaxed)) {
            return global.notice(owner_line_of(shared), now);
        }
    }
    return nullptr;
}

} // namespace cairn::superblock
