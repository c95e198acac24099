// SPDX-License-Identifier: MIT
//
// Orphans: superblocks whose heaps' threads the child of a fork does not have. They wait until the global heap needs
// superblocks, or until remote frees of one reach its notice threshold.
//
// Adds:    put; adopt, by which all of them, or one, get into the stock.
// Needs:   SuperblockMaker, Stock and the lock over it.
// Keeps:   no block of an orphan is read before it is adopted. So a child that only loads another program does not
//          read its parent's free blocks page by page, nor pages that the parent keeps from its children
//          (MADV_DONTFORK).
// Threads: adopt: any. put and forget: the child of a fork, before it has a second thread.
// Cost:    adopt: a load; once, a walk over all free blocks.
#pragma once

#include <cairn/superblock/maker.hpp>
#include <cairn/superblock/notices.hpp>
#include <cairn/superblock/recount.hpp>
#include <cairn/superblock/stock.hpp>

namespace cairn {

template <class Classes, class Discipline>
class Orphans {
public:
    constexpr Orphans(SuperblockMaker<Classes> &maker, Stock<Classes, Discipline> &stock, sync::Lock &lock)
        : maker_(maker), stock_(stock), lock_(lock) {}

    /// A superblock without an owner from now on.
    void put(OwnerLine *s) {
        set_owner(s, nullptr);
        Notices<Discipline>::orphan(s);
        s->place = Place::orphan;
        list_.push_front(s);
        any_.store(true, std::memory_order_relaxed);
    }

    /// Adopts all orphans, but for those about which another thread is just delivering a notice.
    CAIRN_INLINE void adopt() {
        if (CAIRN_UNLIKELY(any_.load(std::memory_order_relaxed))) {
            adopt_all();
        }
    }

    /// Adopts the orphan about which the calling thread delivers a notice.
    void adopt(OwnerLine *s) {
        LineList empties;
        {
            sync::Guard hold(lock_);
            list_.remove(s);
            adopt_locked(s, empties);
        }
        release_run(empties);
    }

    void forget() {
        list_ = {};
        any_.store(false, std::memory_order_relaxed);
    }

private:
    CAIRN_NOINLINE void adopt_all() {
        LineList empties;
        {
            sync::Guard hold(lock_);
            LineList claimed_by_others;
            while (OwnerLine *const s = list_.front()) {
                list_.remove(s);
                if (Notices<Discipline>::claim(s)) {
                    adopt_locked(s, empties);
                } else {
                    claimed_by_others.push_front(s);
                }
            }
            list_ = claimed_by_others;
            any_.store(false, std::memory_order_relaxed);
        }
        release_run(empties);
    }

    void adopt_locked(OwnerLine *s, LineList &empties) {
        superblock::recount(s);
        // A thread that delivers a notice about frees after the recount waits for the lock, and then looks for the
        // superblock in the stock: it is there, since it has a live block.
        Notices<Discipline>::let_go(s, /*own_notice=*/false);
        if (s->accounted != 0) {
            stock_.put(s, 0);
        } else {
            empties.push_front(s);
        }
    }

    void release_run(LineList &empties) {
        while (OwnerLine *const s = empties.front()) {
            empties.remove(s);
            maker_.release_run(s);
        }
    }

    SuperblockMaker<Classes> &maker_;
    Stock<Classes, Discipline> &stock_;
    sync::Lock &lock_;
    LineList list_; ///< under the lock
    /// relaxed: a hint without the lock. The fork child stores it while it has one thread; other threads come later.
    std::atomic<bool> any_{false};
};

} // namespace cairn
