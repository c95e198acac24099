// SPDX-License-Identifier: MIT
//
// Wanted visits: the heaps that may have too much free memory, since other threads have freed much in them, or since
// their owners have found it so (Overdraft). A visit may find superblocks to give away, unless the owner's next slow
// path comes first.
//
// Adds:    add; take: a stack without a lock for the adding threads.
// Needs:   the heaps' inboxes (Inbox), which are never unmapped.
// Keeps:   an inbox is in the stack at most once. An inbox that is put back goes behind the current batch, so that a
//          thread that can not visit some heaps still reaches the others.
// Threads: add, empty: any. take: one at a time.
// Cost:    add: an exchange and a compare-exchange; the exchange alone while the inbox is in the stack. take: one or
//          two exchanges.
// Source:  Treiber, "Systems programming: coping with parallelism", 1986. The stack is taken whole, so there is no
//          ABA.
#pragma once

#include <cairn/superblock/inbox.hpp>

namespace cairn {

class WantedVisits {
public:
    constexpr WantedVisits() = default;

    /// Adds a heap's inbox, unless it is in the stack.
    void add(Inbox &inbox) {
        // acquire: pairs with the release in take(): its read of next_wanted came before the write here. release:
        // pairs with the acquire in take(): the thread that takes the inbox sees why it was added, also where it was
        // in the stack already. For that the exchange is needed each time: no load goes before it.
        if (inbox.wanted.exchange(true, std::memory_order_acq_rel)) {
            return;
        }
        Inbox *first = first_.load(std::memory_order_relaxed); // relaxed: a hint for the exchange
        do {
            inbox.next_wanted = first;
            // release: pairs with the acquire of take(), which reads next_wanted.
        } while (!first_.compare_exchange_weak(first, &inbox, std::memory_order_release,
                                               std::memory_order_relaxed));
    }

    /// Whether there is none. relaxed: a hint.
    bool empty() const {
        return first_.load(std::memory_order_relaxed) == nullptr &&
               left_.load(std::memory_order_relaxed) == nullptr;
    }

    /// The progress of one caller that takes inboxes and puts some back: it ends when the caller has seen all.
    class Pass {
        friend WantedVisits;
        bool begun_ = false;
        unsigned since_ = 0; ///< rounds_ at its begin
    };

    /// The next inbox. nullptr when there is none, or none that was there before this pass put it back.
    Inbox *take(Pass &pass) {
        if (!pass.begun_) {
            pass.begun_ = true;
            pass.since_ = rounds_;
        }
        Inbox *inbox = left_.load(std::memory_order_relaxed); // relaxed, as its stores: one at a time
        if (inbox == nullptr && rounds_ == pass.since_) {
            ++rounds_;
            // acquire: pairs with the release of each add() after the last exchange.
            inbox = first_.exchange(nullptr, std::memory_order_acquire);
        }
        if (inbox == nullptr || rounds_ - pass.since_ > 1) {
            return nullptr;
        }
        left_.store(inbox->next_wanted, std::memory_order_relaxed);
        inbox->wanted.exchange(false, std::memory_order_acq_rel); // release, acquire: see add()
        return inbox;
    }
    Inbox *take() {
        Pass pass;
        return take(pass);
    }

    /// In the child of a fork. Each inbox is reset by itself (Inbox::reset_after_fork).
    void reset_after_fork() {
        first_.store(nullptr, std::memory_order_relaxed); // relaxed, both: alone
        left_.store(nullptr, std::memory_order_relaxed);
    }

private:
    std::atomic<Inbox *> first_{nullptr};
    std::atomic<Inbox *> left_{nullptr}; ///< the current batch: what is left of the stack that was taken last
    unsigned rounds_ = 0;                ///< batches so far
};

} // namespace cairn
