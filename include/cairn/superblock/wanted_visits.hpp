// SPDX-License-Identifier: MIT
//
// Wanted visits: the heaps that may hold too much, since other threads have freed much into them, or since their owners have
// found it so (Overdraft): a visit may find superblocks to give away, should their owners not come by first.
//
// Adds:    add, take: a stack without a lock for those who add.
// Needs:   the heaps' in-inboxes (Inbox), which are never unmapped.
// Keeps:   a inbox is in it once at most. What is put back comes behind all that is there: who can not visit some heaps comes to the
//          others.
// Threads: add, empty: any; take: one at a time.
// Cost:    an exchange and a compare-exchange to add, the first alone while the inbox is in it already; an exchange or two to take.
// Source:  Treiber, "Systems programming: coping with parallelism", 1986; taken whole, so there is no ABA.
#pragma once

#include <cairn/superblock/inbox.hpp>

namespace cairn {

class WantedVisits {
public:
    constexpr WantedVisits() = default;

    void add(Inbox &inbox) {
        // acquire: pairs with the release in take(): its read of next_wanted came before our write. release: pairs with the
        // acquire there: who takes the inbox sees why it was added, also where it was in already. Hence no look before.
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

    /// relaxed: a hint.
    bool empty() const {
        return first_.load(std::memory_order_relaxed) == nullptr &&
               left_.load(std::memory_order_relaxed) == nullptr;
    }

    /// Of somebody who takes and puts back: he comes to an end when he has seen all.
    class Pass {
        friend WantedVisits;
        bool begun_ = false;
        unsigned since_ = 0;
    };

    /// nullptr when there is none, or none that was there before the look put it back.
    Inbox *take(Pass &pass) {
        if (!pass.begun_) {
            pass.begun_ = true;
            pass.since_ = rounds_;
        }
        Inbox *inbox = left_.load(std::memory_order_relaxed); // relaxed, as its stores: one at a time
        if (inbox == nullptr && rounds_ == pass.since_) {
            ++rounds_;
            // acquire: pairs with the release in each add() since the last time.
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

    /// In the child of a fork. The inboxes are forgotten one by one (Inbox::reset_after_fork).
    void reset_after_fork() {
        first_.store(nullptr, std::memory_order_relaxed); // relaxed, both: alone
        left_.store(nullptr, std::memory_order_relaxed);
    }

private:
    std::atomic<Inbox *> first_{nullptr};
    std::atomic<Inbox *> left_{nullptr}; ///< of those that were taken off the stack together
    unsigned rounds_ = 0;                ///< how often that was
};

} // namespace cairn
