// SPDX-License-Identifier: MIT
//
// Pending superblocks: a heap's in-tray. A thread whose remote free brings a superblock's count to `notify`
// puts the superblock here; the owner empties the tray when it next takes its slow path.
//
// Adds:    push by any thread, take-all by the owner.
// Needs:   SharedLine::pending_next; RemoteWord's queued bit, which makes sure that a superblock is in one
// tray at most. Keeps:   descriptors and heaps are never unmapped, so a late push touches nothing that is
// gone. Threads: push any; take the owner. Cost:    one exchange each; a push happens once in some tens of
// remote frees.
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

class alignas(platform::cache_line) PendingSuperblocks {
public:
    void push(OwnerLine *s) {
        SharedLine *const shared = shared_of(s);
        OwnerLine *first = first_.load(std::memory_order_relaxed);
        do {
            shared->pending_next.store(first, std::memory_order_relaxed);
            // release: pairs with the acquire of take(), so that the owner sees the link.
        } while (
            !first_.compare_exchange_weak(first, s, std::memory_order_release, std::memory_order_relaxed));
    }

    bool empty() const { return first_.load(std::memory_order_relaxed) == nullptr; }

    OwnerLine *take() { return first_.exchange(nullptr, std::memory_order_acquire); }

    void reset_after_fork() { first_.store(nullptr, std::memory_order_relaxed); }

private:
    std::atomic<OwnerLine *> first_{nullptr};
};

} // namespace cairn
