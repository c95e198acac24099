// SPDX-License-Identifier: MIT
//
// Orphans: the superblocks whose owners the child of a fork does not have, until the global heap needs one, or much was freed of it.
//
// Adds:    put; adopt, by which they come into the stock: all, or one.
// Needs:   SuperblockMaker, Stock and the lock over it.
// Keeps:   their blocks are not looked at before. A child that only loads another program need not read, page by page, what lies free in
//          its parent, and of pages that the parent keeps from its children (MADV_DONTFORK) there is nothing to be read.
// Threads: adopt any; put and forget in the child of a fork, alone.
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

    void put(OwnerLine *s) {
        set_owner(s, nullptr);
        Notices<Discipline>::orphan(s);
        s->place = Place::orphan;
        list_.push_front(s);
        any_.store(true, std::memory_order_relaxed);
    }

    /// All of them, if there are any, but for those that another thread is just about to tell of.
    CAIRN_INLINE void adopt() {
        if (CAIRN_UNLIKELY(any_.load(std::memory_order_relaxed))) {
            adopt_all();
        }
    }

    /// One that the caller tells of.
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
            LineList told;
            while (OwnerLine *const s = list_.front()) {
                list_.remove(s);
                if (Notices<Discipline>::claim(s)) {
                    adopt_locked(s, empties);
                } else {
                    told.push_front(s);
                }
            }
            list_ = told;
            any_.store(false, std::memory_order_relaxed);
        }
        release_run(empties);
    }

    void adopt_locked(OwnerLine *s, LineList &empties) {
        superblock::recount(s);
        // Who tells of it already, of what was freed since, waits for the lock, and looks for it in the stock: it has a live block then.
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
    std::atomic<bool> any_{
        false}; ///< relaxed: a hint without the lock. At the fork there is one thread, all others come after
};

} // namespace cairn
