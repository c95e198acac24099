// SPDX-License-Identifier: MIT
//
// Visit: what another thread does for a heap whose own thread does not come by: it sleeps, is stopped, or only uses what
// it has. So the bound on memory does not depend on it.
//
// Adds:    settle (takes in notices and keeps the emptiness invariant, as the owner would), retire (all bins too).
// Needs:   ThreadHeap, and its Presence.
// Keeps:   what the owner is using stays where it is (Taking).
// Threads: any; one visitor at a time, and none while the owner is inside.
// Errors:  converts to false when nobody could get in: nothing is done, nothing has changed.
// Cost:    two or three heavy fences, more only where there is very much to give; the owner's fast path is not held up.
// Source:  Hoard, section 3.4: the thread that frees, whoever it is, moves a superblock to heap 0 when heap i gets too
//          empty. There it holds heap i's lock.
#pragma once

#include <cairn/thread/taking.hpp>

namespace cairn {

template <class Heap>
class Visit {
public:
    explicit Visit(Heap &visited) : heap_(visited), in_(visited.presence().try_visit()) {}
    ~Visit() {
        if (in_) {
            heap_.presence().end_visit();
        }
    }
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    explicit operator bool() const { return in_; }

    /// What the owner would do in a slow path. If that is not enough, the bins too, as far as their superblocks have no live
    /// block: to give those away makes no two threads share a line. If they hold very much, all of them.
    void settle() {
        auto &holdings = heap_.holdings();
        const std::size_t bins_may = holdings.share(Discipline::bins_slack);
        thin_out(Discipline::too_empty, BinPolicy::if_too_empty,
                 [&](const OwnerLine *s) { return s->accounted == 0 || holdings.overdraft() > bins_may; });
        // What is left was in use: its owner is asked. relaxed: a hint.
        heap_.inbox().asked.store(holdings.overdraft() > bins_may, std::memory_order_relaxed);
        holdings.overdraft_visited();
    }

    /// The heap's thread has not come by for long: it keeps no more than its share of the slack free, in bins or not, apart from what
    /// nearly full superblocks have.
    void retire() {
        const std::size_t slack = heap_.holdings().share(Discipline::slack);
        thin_out([=](std::size_t u, std::size_t a) { return a > u + slack; }, BinPolicy::always,
                 [](const OwnerLine *) { return true; });
    }

private:
    using Discipline = typename Heap::Discipline;
    using Classes = typename Heap::Classes;
    enum class BinPolicy : bool { if_too_empty, always };

    /// In rounds of one fence each: what others have told of, the emptiest superblocks and those of bins are taken, and stay or
    /// go. Until nothing more can go.
    template <class TooEmpty, class LeavesBin>
    void thin_out(TooEmpty too_empty, BinPolicy when, LeavesBin leaves_bin) {
        OwnerLine *told = heap_.holdings().inbox().take();
        bool bins_seen = false;
        for (bool again = true; again;) {
            Taking<Heap> taken(heap_);
            told = taken.take_list(told);
            const unsigned count_told = taken.count();
            again = count_told != 0;
            const bool enough = take_emptiest(taken, too_empty);
            if (!bins_seen && !taken.full() && (when == BinPolicy::always || !enough)) {
                bins_seen = again = true;
                take_bins(taken);
            }
            if (taken.empty()) {
                break;
            }
            taken.find_owner();
            again |= sort_out(taken, count_told, when, too_empty, leaves_bin);
        }
        while (OwnerLine *const s = refused_.front()) {
            refused_.remove(s);
            Taking<Heap>(heap_).put_back(s);
        }
    }

    /// While the account says so. Whether it then says that this is enough.
    template <class TooEmpty>
    bool take_emptiest(Taking<Heap> &taken, TooEmpty too_empty) {
        auto &holdings = heap_.holdings();
        std::size_t used = holdings.used();
        std::size_t held = holdings.held();
        while (too_empty(used, held)) {
            OwnerLine *const s = taken.full() ? nullptr : holdings.places().emptiest(holdings.movable);
            if (s == nullptr) {
                return false;
            }
            holdings.places().take_out(s);
            used -= holdings.used_by(s);
            held -= superblock::held_by(s);
            if (!taken.has(s)) { // else it was told of as well
                taken.take(s);
            }
        }
        return true;
    }

    void take_bins(Taking<Heap> &taken) {
        for (unsigned c = 0; c < Classes::count; ++c) {
            if (!heap_.bins().is_empty(c)) {
                taken.take(heap_.bins().at(c));
            }
        }
    }

    /// True if something was given to the global heap, or refused by it: then others may go. All are accounted for before the first one goes. Bins whose superblocks have
    /// live blocks come last: perhaps no more need go.
    template <class TooEmpty, class LeavesBin>
    bool sort_out(Taking<Heap> &taken, unsigned told, BinPolicy when, TooEmpty too_empty,
                  LeavesBin leaves_bin) {
        taken.keep_if([&](OwnerLine *s, unsigned number) { return examine(taken, s, number < told, when); });
        bool given = false;
        for (const bool in_bin : {false, true}) {
            taken.keep_if([&](OwnerLine *s, unsigned) {
                if (!in_bin && s->place == Place::current && s->accounted != 0) {
                    return true;
                }
                given |= give_or_put_back(taken, s, too_empty, leaves_bin);
                return false;
            });
        }
        return given;
    }

    /// Accounts for it. False if it is in use, and stays. What has live blocks serves nobody else: what it has not cut yet goes to
    /// the operating system, as memory is about to grow; not while it is being cut, or it would soon touch that again.
    bool examine(Taking<Heap> &taken, OwnerLine *s, bool told, BinPolicy when) {
        if (taken.in_use(s)) {
            taken.put_back(s);
            if (told) {
                heap_.inbox().put_back(s,
                                       Heap::Notice::pending_bytes(s)); // its notice is still to be taken in
            }
            return false;
        }
        if (told) {
            Heap::Notice::acknowledge(s);
        }
        heap_.holdings().account(s);
        if (!told && s->accounted != 0 && (when == BinPolicy::always || !superblock::take_carved_flag(s))) {
            heap_.holdings().drop_uncarved(s);
        }
        return true;
    }

    template <class TooEmpty, class LeavesBin>
    bool give_or_put_back(Taking<Heap> &taken, OwnerLine *s, TooEmpty too_empty, LeavesBin leaves_bin) {
        auto &holdings = heap_.holdings();
        if (s->place == Place::current && leaves_bin(s)) {
            s->place = Place::nowhere;
        }
        holdings.place_anew(s);
        if (too_empty(holdings.used(), holdings.held()) && movable(s)) {
            holdings.give(s) ? void() : refused_.push_front(s);
            return true;
        }
        taken.put_back(s);
        return false;
    }

    bool movable(const OwnerLine *s) const {
        return s->place == Place::empty ||
               (s->place == Place::partial && s->group < heap_.holdings().movable);
    }

    Heap &heap_;
    LineList
        refused_; ///< a notice about each is on its way: they stay, and are in no place until the visit is over
    bool in_;
};

} // namespace cairn
