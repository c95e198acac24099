// SPDX-License-Identifier: MIT
//
// Pending superblocks: a heap's inbox. A thread whose remote free brings a superblock's count to `notify`
// puts the superblock here; the owner empties the inbox when it next takes its slow path.
//
// Adds:    push by any thread, take-all by the owner or a visitor; whether the heap has an owner at all; how much was
//          freed since the last taking.
// Needs:   RemoteLine::pending_next; RemoteWord's queued bit, which makes sure that a superblock is in one
//          inbox at most.
// Keeps:   descriptors and heaps are never unmapped, so a late push touches nothing that is gone. A push to a
//          heap that nobody has is seen by its last owner (`empty` after `set_unowned`) or sees `idle`.
// Threads: push any; take the owner or a visitor.
// Cost:    one compare-exchange each; a push happens once in some tens of remote frees.
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

class alignas(platform::cache_line) Inbox {
public:
    void *heap = nullptr; ///< whose inbox it is; set before anybody knows of the inbox

    Inbox *next_wanted = nullptr; ///< for WantedVisits, and whether it is there
    std::atomic<bool> wanted{false};

    /// The heap holds more free memory than it should, in its bins, as its owner saw. relaxed: a hint.
    std::atomic<bool> overdrawn{false};

    /// A visitor met the owner inside, who is asked to do the visitor's work. relaxed: a hint.
    std::atomic<bool> asked{false};

    void push(OwnerLine *s) {
        OwnerLine *first = first_.load(std::memory_order_relaxed); // relaxed: a hint for the exchange
        do {
            // relaxed: rides on the exchange; `queued` keeps other writers away.
            remote_of(s)->pending_next.store(first, std::memory_order_relaxed);
            // release: pairs with the acquire of take(), so that the owner sees the link. seq_cst: with the
            // load in is_unowned() that follows, against set_unowned() and the load in empty().
        } while (
            !first_.compare_exchange_weak(first, s, std::memory_order_seq_cst, std::memory_order_relaxed));
    }

    /// seq_cst: after set_unowned(true), against the exchange of push(), which is before the load in is_unowned().
    bool empty() const { return first_.load(std::memory_order_seq_cst) == nullptr; }

    /// No thread has the heap: whoever pushes has to see to it that the superblock is handed over.
    /// seq_cst, load and store: see push() and empty().
    bool is_unowned() const { return unowned_.load(std::memory_order_seq_cst); }
    void set_unowned(bool unowned) { unowned_.store(unowned, std::memory_order_seq_cst); }

    /// acquire: pairs with the exchange of every push since the last take.
    OwnerLine *take() {
        freed_.store(0, std::memory_order_relaxed);
        left_.store(0, std::memory_order_relaxed);
        return first_.exchange(nullptr, std::memory_order_acquire);
    }

    /// Others have freed so many bytes more. relaxed: a hint.
    void note_freed(std::size_t bytes) { freed_.fetch_add(bytes, std::memory_order_relaxed); }
    /// All that they freed since the last taking.
    std::size_t freed() const { return freed_.load(std::memory_order_relaxed); }

    /// After a taking: what of this superblock was told could not be taken in. relaxed: as freed().
    void put_back(OwnerLine *s, std::size_t told) {
        left_.fetch_add(told, std::memory_order_relaxed);
        push(s);
    }
    /// All that was told and not taken in yet.
    std::size_t pending_bytes() const { return freed() + left_.load(std::memory_order_relaxed); }

    void reset_after_fork() {
        first_.store(nullptr, std::memory_order_relaxed); // relaxed, both: alone
        wanted.store(false, std::memory_order_relaxed);
    }

private:
    std::atomic<OwnerLine *> first_{nullptr};
    std::atomic<bool> unowned_{false};
    std::atomic<std::size_t> freed_{0};
    std::atomic<std::size_t> left_{0};
};

} // namespace cairn
