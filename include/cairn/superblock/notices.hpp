// SPDX-License-Identifier: MIT
//
// Notices: who owns a superblock, after how many remote frees the owner is told, and in which inbox the notice
// goes.
//
// Adds:    the owner's mark, the thresholds (RemoteLine::notify) and delivery to the heap of a number.
// Needs:   Emptiness, InboxTable.
// Keeps:   a number's inbox never changes: heaps are not unmapped.
// Threads: any; inboxes() as that says.
// Cost:    a load and a push.
#pragma once

#include <cairn/superblock/emptiness.hpp>
#include <cairn/superblock/gathered_chain.hpp>
#include <cairn/superblock/inbox_table.hpp>
#include <cairn/superblock/remote_list.hpp>
#include <cairn/superblock/wanted_visits.hpp>

namespace cairn {

template <class Discipline>
class Notices {
public:
    constexpr Notices() = default;

    InboxTable &inboxes() { return inboxes_; }
    Inbox *inbox(unsigned heap) { return inboxes_.get(heap); }

    /// The heaps to visit before memory is taken that nothing has used yet.
    WantedVisits &wanted_visits() { return wanted_visits_; }

    /// Into the inbox of the heap, which is returned.
    Inbox *deliver(OwnerLine *s, unsigned heap) {
        Inbox *const to = inbox(heap);
        to->push(s);
        return to;
    }

    /// For a superblock that is cut for the first time, or anew.
    static void arm(OwnerLine *s) {
        SharedLine *const shared = shared_of(s);
        shared->step = static_cast<std::uint16_t>(Discipline::remote_step_of(shared->capacity));
        shared->gather = GatheredChain::limit_of(shared->slots, shared->block_size, shared->step);
        // relaxed: no block of it is live
        remote_of(s)->notify.store(shared->step, std::memory_order_relaxed);
    }

    /// For one that nobody allocates from: a step more, or when all blocks are in the list.
    static std::uint16_t next(const OwnerLine *s, RemoteWord word) {
        const std::uint32_t step = word.count() + shared_of(s)->step;
        return static_cast<std::uint16_t>(s->live() < step ? s->live() : step);
    }

    /// What SharedLine::owner holds: the heap; for a superblock of several slots an odd address, so that the
    /// fast path, which knows one slot, does not take it for its own.
    static void *mark_owner(const OwnerLine *s, void *heap) {
        return shared_of(s)->slots == 1 ? heap : hidden(heap);
    }

    /// The heap as no fast path takes it for its own, whatever the superblock.
    static void *hidden(void *heap) { return reinterpret_cast<void *>(address_of(heap) | 1); }

    /// The heap in what SharedLine::owner holds. Asks nothing of the superblock, which may be somebody else's by now.
    static const void *heap_of(const void *owner) {
        return reinterpret_cast<const void *>(align_down(address_of(owner), 2));
    }

    /// The superblock is `heap`'s from now on.
    static void own(OwnerLine *s, void *heap) { set_owner(s, mark_owner(s, heap)); }

    /// The owner knows what was freed so far: clears `queued`, with the next threshold. The blocks stay in the list.
    /// release: pairs with the acquire of free_remote: who queues it next writes pending_next after we have read it, and a later
    /// push sees the new threshold. The blocks are counted, not used: who takes the list acquires them.
    static void acknowledge(OwnerLine *s) {
        s->freed_by_others.store(true, std::memory_order_relaxed); // relaxed: for ourselves; we were told
        const std::uint32_t step = shared_of(s)->step;
        RemoteLine *const line = remote_of(s);
        RemoteWord word{line->word.load(std::memory_order_relaxed)}; // relaxed: the exchange decides
        do {
            line->notify.store(static_cast<std::uint16_t>(word.count() + step), std::memory_order_relaxed);
        } while (!line->word.compare_exchange_weak(word.bits, word.bits & ~RemoteWord::queued_bit,
                                                   std::memory_order_release, std::memory_order_relaxed));
    }

    /// Bytes that the owner was told of since it last knew, in whole steps. A hint: it may just take them in.
    static std::size_t pending_bytes(const OwnerLine *s) {
        const RemoteLine *const line = remote_of(s);
        const SharedLine *const shared = shared_of(s);
        const RemoteWord word{line->word.load(std::memory_order_relaxed)};
        const std::size_t since = word.count() + std::size_t{shared->step};
        const std::size_t known = line->notify.load(std::memory_order_relaxed);
        return since < known ? 0 : (since - known) / shared->step * shared->step * shared->block_size;
    }

    /// Makes the remote word that of a superblock that nobody holds, with the next threshold; under the global
    /// heap's lock. False, and nothing has changed but the threshold, while another thread's notice is on its
    /// way; `own_notice`: the notice is the caller's own.
    static bool let_go(OwnerLine *s, bool own_notice) {
        RemoteLine *const line = remote_of(s);
        RemoteWord word{line->word.load(std::memory_order_relaxed)}; // relaxed: the exchange decides
        do {
            if (word.queued() && !own_notice) {
                return false;
            }
            line->notify.store(next(s, word), std::memory_order_relaxed);
            // release: pairs with the acquire of free_remote: a later push sees the new threshold. acquire: pairs
            // with its release: the blocks freed so far are seen to be free.
        } while (!line->word.compare_exchange_weak(word.bits, without_owner(s, word),
                                                   std::memory_order_acq_rel, std::memory_order_relaxed));
        s->accounted = superblock::live_without(s, word);
        return true;
    }

    /// Nobody's, with the next threshold. In the child of a fork, which is alone: relaxed.
    static void orphan(OwnerLine *s) {
        constexpr std::uint64_t list = RemoteWord::head_mask | RemoteWord::count_mask;
        RemoteLine *const line = remote_of(s);
        const RemoteWord word{line->word.load(std::memory_order_relaxed) & list};
        line->notify.store(next(s, word), std::memory_order_relaxed);
        line->word.store(word.bits, std::memory_order_relaxed);
    }

    /// As if its notice were on its way: false if it is. relaxed: what it hands over is under the lock.
    static bool claim(OwnerLine *s) {
        const RemoteWord word{remote_of(s)->word.fetch_or(RemoteWord::queued_bit, std::memory_order_relaxed)};
        return !word.queued();
    }

private:
    /// No owner, no notice; nothing at all when all blocks are free, so that a thread that was late to look at
    /// its threshold finds nothing to tell.
    static std::uint64_t without_owner(const OwnerLine *s, RemoteWord word) {
        return s->live() == word.count() ? 0 : word.bits & ~(RemoteWord::owner_mask | RemoteWord::queued_bit);
    }

    WantedVisits wanted_visits_;
    InboxTable inboxes_;
};

} // namespace cairn
