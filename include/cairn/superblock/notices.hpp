// SPDX-License-Identifier: MIT
//
// Notices: who owns a superblock, after how many remote frees the owner gets a notice, and to which inbox the notice
// goes.
//
// Adds:    the encoding of SharedLine::owner, the notice threshold (RemoteLine::notify), and delivery to the heap of a
//          number.
// Needs:   Emptiness, InboxTable.
// Keeps:   a number has the same inbox for ever: heaps are not unmapped.
// Threads: any; inboxes(): see InboxTable.
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

    /// The heaps to visit before fresh memory is taken.
    WantedVisits &wanted_visits() { return wanted_visits_; }

    /// Puts a superblock into the inbox of the heap with this number. Returns the inbox.
    Inbox *deliver(OwnerLine *s, unsigned heap) {
        Inbox *const to = inbox(heap);
        to->push(s);
        return to;
    }

    /// Sets the first notice threshold of a superblock of which no block is carved.
    static void arm(OwnerLine *s) {
        SharedLine *const shared = shared_of(s);
        shared->step = static_cast<std::uint16_t>(Discipline::remote_step_of(shared->capacity));
        shared->gather = GatheredChain::limit_of(shared->slots, shared->block_size, shared->step);
        // relaxed: no block of it is live
        remote_of(s)->notify.store(shared->step, std::memory_order_relaxed);
    }

    /// For the owner of a superblock whose own list is empty: it checks the superblock at the next free, and gets a
    /// notice of the next remote free. True if there are remote frees already. release: pairs with the acquire of
    /// free_remote: a later push sees the threshold. acquire: pairs with its release: `freed_by_others` is seen.
    static bool tell_of_next_free(OwnerLine *s) {
        s->check_at += s->frees_until_check - 1;
        s->frees_until_check = 1;
        remote_of(s)->notify.store(1, std::memory_order_relaxed);
        return !RemoteWord{remote_of(s)->word.fetch_or(0, std::memory_order_acq_rel)}.empty();
    }

    /// The next notice threshold of a superblock of the global heap: a step more, or all blocks that are not in its
    /// list where these are fewer.
    static std::uint16_t next(const OwnerLine *s, RemoteWord word) {
        const std::uint32_t step = word.count() + shared_of(s)->step;
        return static_cast<std::uint16_t>(s->live() < step ? s->live() : step);
    }

    /// The value of SharedLine::owner for a superblock of `heap`: the heap's address, with the lowest bit set where the
    /// superblock has several slots. The fast path of free serves superblocks of one slot, and takes no odd value for
    /// its own.
    static void *encode_owner(const OwnerLine *s, void *heap) {
        return shared_of(s)->slots == 1 ? heap : hidden(heap);
    }

    /// The heap's address with the lowest bit set, which no fast path takes for its own heap.
    static void *hidden(void *heap) { return reinterpret_cast<void *>(address_of(heap) | 1); }

    /// The heap in a value of SharedLine::owner. Reads nothing of the superblock, which may have another owner by now.
    static const void *heap_of(const void *owner) {
        return reinterpret_cast<const void *>(align_down(address_of(owner), 2));
    }

    /// Makes `heap` the superblock's owner.
    static void own(OwnerLine *s, void *heap) { set_owner(s, encode_owner(s, heap)); }

    /// For the owner, or a visiting thread in its place, which then counts what was freed so far. Clears `queued` and
    /// sets the next notice threshold. The blocks stay in the remote list. release: pairs with the acquire of
    /// free_remote: a thread that queues the superblock next writes pending_next after this thread has read it, and a
    /// later push sees the new threshold. No acquire: the blocks are counted, not used; the thread that takes the list
    /// acquires them.
    static void acknowledge(OwnerLine *s) {
        // relaxed: for this thread, which the notice has told of remote frees.
        s->freed_by_others.store(true, std::memory_order_relaxed);
        const std::uint32_t step = shared_of(s)->step;
        RemoteLine *const line = remote_of(s);
        RemoteWord word{line->word.load(std::memory_order_relaxed)}; // relaxed: the exchange decides
        do {
            line->notify.store(static_cast<std::uint16_t>(word.count() + step), std::memory_order_relaxed);
        } while (!line->word.compare_exchange_weak(word.bits, word.bits & ~RemoteWord::queued_bit,
                                                   std::memory_order_release, std::memory_order_relaxed));
    }

    /// Bytes in remote frees since the last notice that the owner has processed, in whole steps. A hint: the owner may
    /// be processing a notice now.
    static std::size_t pending_bytes(const OwnerLine *s) {
        const RemoteLine *const line = remote_of(s);
        const SharedLine *const shared = shared_of(s);
        const RemoteWord word{line->word.load(std::memory_order_relaxed)};
        const std::size_t since = word.count() + std::size_t{shared->step};
        const std::size_t known = line->notify.load(std::memory_order_relaxed);
        return since < known ? 0 : (since - known) / shared->step * shared->step * shared->block_size;
    }

    /// Gives the superblock no owner and its next notice threshold, under the global heap's lock. False while another
    /// thread's notice about it is on its way: then only the threshold has changed. `own_notice`: the notice that is on
    /// its way is the caller's.
    static bool let_go(OwnerLine *s, bool own_notice) {
        RemoteLine *const line = remote_of(s);
        RemoteWord word{line->word.load(std::memory_order_relaxed)}; // relaxed: the exchange decides
        do {
            if (word.queued() && !own_notice) {
                return false;
            }
            line->notify.store(next(s, word), std::memory_order_relaxed);
            // release: pairs with the acquire of free_remote: a later push sees the new threshold. acquire: pairs with
            // the release of free_remote: the blocks freed so far are seen to be free.
        } while (!line->word.compare_exchange_weak(word.bits, without_owner(s, word),
                                                   std::memory_order_acq_rel, std::memory_order_relaxed));
        s->accounted = superblock::live_without(s, word);
        return true;
    }

    /// Gives the superblock no owner and its next notice threshold. In the child of a fork, which has one thread:
    /// relaxed.
    static void orphan(OwnerLine *s) {
        constexpr std::uint64_t list = RemoteWord::head_mask | RemoteWord::count_mask;
        RemoteLine *const line = remote_of(s);
        const RemoteWord word{line->word.load(std::memory_order_relaxed) & list};
        line->notify.store(next(s, word), std::memory_order_relaxed);
        line->word.store(word.bits, std::memory_order_relaxed);
    }

    /// Sets the queued bit, as a thread with a notice about the superblock does. False if such a notice is on its way
    /// already. relaxed: the lock hands the superblock over.
    static bool claim(OwnerLine *s) {
        const RemoteWord word{remote_of(s)->word.fetch_or(RemoteWord::queued_bit, std::memory_order_relaxed)};
        return !word.queued();
    }

private:
    /// The word with no owner and no notice. 0 where all blocks are free, so that a thread that compares its count with
    /// the threshold late finds no notice to deliver.
    static std::uint64_t without_owner(const OwnerLine *s, RemoteWord word) {
        return s->live() == word.count() ? 0 : word.bits & ~(RemoteWord::owner_mask | RemoteWord::queued_bit);
    }

    WantedVisits wanted_visits_;
    InboxTable inboxes_;
};

} // namespace cairn
