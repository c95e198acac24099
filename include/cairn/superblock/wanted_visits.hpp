// SPDX-License-Identifier: MIT
//
// Wanted visits: the heaps into which other threads have freed so much that a visit may find superblocks to give away,
// should their owners not come by first.
//
// Adds:    add, take: a stack without a lock for those who add.
// Needs:   the heaps' in-trays (PendingSuperblocks), which are never unmapped.
// Keeps:   a tray is in it once at most.
// Threads: add, empty: any; take: one at a time.
// Cost:    a compare-exchange each; add costs a load while the tray is in it already.
// Source:  Treiber, "Systems programming: coping with parallelism", 1986; with one taker there is no ABA.
#pragma once

#include <cairn/superblock/pending.hpp>

namespace cairn {

class WantedVisits {
public:
    constexpr WantedVisits() = default;

    void add(PendingSuperblocks &tray) {
        // acquire: pairs with the release in take(): its read of next_wanted came before our write.
        if (tray.wanted.load(std::memory_order_relaxed) ||
            tray.wanted.exchange(true, std::memory_order_acquire)) {
            return;
        }
        PendingSuperblocks *first =
            first_.load(std::memory_order_relaxed); // relaxed: a hint for the exchange
        do {
            tray.next_wanted = first;
            // release: pairs with the acquire of take(), which reads next_wanted.
        } while (!first_.compare_exchange_weak(first, &tray, std::memory_order_release,
                                               std::memory_order_relaxed));
    }

    /// relaxed: a hint.
    bool empty() const { return first_.load(std::memory_order_relaxed) == nullptr; }

    /// nullptr when there is none.
    PendingSuperblocks *take() {
        for (;;) {
            // acquire: pairs with the release in add().
            PendingSuperblocks *first = first_.load(std::memory_order_acquire);
            if (first == nullptr) {
                return nullptr;
            }
            // relaxed: nobody else takes a tray out, so it finds the very store that the load has acquired.
            PendingSuperblocks *expected = first;
            if (first_.compare_exchange_weak(expected, first->next_wanted, std::memory_order_relaxed)) {
                first->wanted.store(false, std::memory_order_release); // release: see add()
                return first;
            }
        }
    }

    /// In the child of a fork. The trays are forgotten one by one (PendingSuperblocks::reset_after_fork).
    void reset_after_fork() { first_.store(nullptr, std::memory_order_relaxed); } // relaxed: alone

private:
    std::atomic<PendingSuperblocks *> first_{nullptr};
};

} // namespace cairn
