// SPDX-License-Identifier: MIT
//
// Inbox: the superblocks of a heap about which the owner thread has a notice to process. A thread whose remote free
// brings a superblock's count to `notify` puts the superblock here; the owner takes all of them in its next slow
// path.
//
// Adds:    push by any thread; take by the owner or a visiting thread; whether a thread has the heap; how many bytes
//          were freed by other threads since the last take.
// Needs:   RemoteLine::pending_next; RemoteWord's queued bit, which makes sure that a superblock is in one inbox at
//          most.
// Keeps:   descriptors and heaps are never unmapped, so a late push touches only memory that exists. A push to a heap
//          that no thread has is seen by the thread that had it last (`empty` after `set_unowned`), or the pushing
//          thread sees `is_unowned`.
// Threads: push: any. take: the owner or a visiting thread.
// Cost:    one compare-exchange each; a push once in some tens of remote frees.
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

class alignas(platform::cache_line) Inbox {
public:
    void *heap = nullptr; ///< the ThreadHeap that has this inbox; set before other threads know of the inbox

    Inbox *next_wanted = nullptr;    ///< for WantedVisits
    std::atomic<bool> wanted{false}; ///< whether the inbox is in WantedVisits

    /// The owner has found that its heap has more free memory than the discipline allows. relaxed: a hint.
    std::atomic<bool> overdrawn{false};

    /// A visiting thread met the owner in a long section, and asks it to do the visit's work. relaxed: a hint.
    std::atomic<bool> asked{false};

    /// Puts in a superblock whose queued bit the calling thread has set.
    void push(OwnerLine *s) {
        OwnerLine *first = first_.load(std::memory_order_relaxed); // relaxed: a hint for the exchange
        do {
            // relaxed: rides on the exchange; while `queued` is set only this thread writes pending_next.
            remote_of(s)->pending_next.store(first, std::memory_order_relaxed);
            // release: pairs with the acquire of take(): the owner sees the link. seq_cst: with the later load in
            // is_unowned() against set_unowned() and the load in empty().
        } while (
            !first_.compare_exchange_weak(first, s, std::memory_order_seq_cst, std::memory_order_relaxed));
    }

    /// seq_cst: after set_unowned(true), against the exchange of push(), which comes before the load in is_unowned().
    bool empty() const { return first_.load(std::memory_order_seq_cst) == nullptr; }

    /// No thread has the heap: a thread that pushes has to tend the heap (HeapRegistry::tend). seq_cst, load and
    /// store: see push() and empty().
    bool is_unowned() const { return unowned_.load(std::memory_order_seq_cst); }
    void set_unowned(bool unowned) { unowned_.store(unowned, std::memory_order_seq_cst); }

    /// Takes all superblocks; they are linked by pending_next. acquire: pairs with the exchange of every push since
    /// the last take.
    OwnerLine *take() {
        freed_.store(0, std::memory_order_relaxed);
        left_.store(0, std::memory_order_relaxed);
        return first_.exchange(nullptr, std::memory_order_acquire);
    }

    /// Other threads have freed `bytes` more. relaxed: a hint.
    void note_freed(std::size_t bytes) { freed_.fetch_add(bytes, std::memory_order_relaxed); }
    /// The bytes of note_freed() since the last take.
    std::size_t freed() const { return freed_.load(std::memory_order_relaxed); }

    /// After a take: the notice about this superblock, for `bytes` freed by other threads, could not be processed.
    /// relaxed: as freed().
    void put_back(OwnerLine *s, std::size_t bytes) {
        left_.fetch_add(bytes, std::memory_order_relaxed);
        push(s);
    }
    /// Bytes that other threads have freed and that the heap has not accounted for.
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
