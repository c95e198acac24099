// SPDX-License-Identifier: MIT
//
// Visit: another thread does a heap's rebalancing while the heap's own thread sleeps, is stopped, or only uses what it
// has. So the bound on memory does not depend on the owner thread.
//
// Adds:    settle, which processes notices and keeps the emptiness invariant as the owner would; retire, which also
//          empties the bins.
// Needs:   ThreadHeap, and its Presence.
// Keeps:   a superblock that the owner may be using stays where it is (Taking).
// Threads: any; one visiting thread at a time, and none while the owner is in a long section.
// Errors:  converts to false when the visiting thread could not get in: then nothing has changed.
// Cost:    two or three heavy fences, more only where very many superblocks go. The owner's fast path is not delayed.
// Source:  Hoard, section 3.4: the thread that frees moves a superblock to heap 0 when heap i gets too empty, whichever
//          thread that is. There it holds heap i's lock.
#pragma once

#include <cairn/thread/taking.hpp>
#include <cairn/thread/visit_policy.hpp>

namespace cairn {

template <class Heap>
class CAIRN_BY_CHECKS Visit { // from its constructor to its destructor it holds a lock
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

    /// Does what the owner would do in a slow path. If that is not enough, also takes superblocks without live blocks
    /// out of bins: giving those away makes no two threads share a cache line. If the heap has very much free memory,
    /// takes all superblocks out of bins.
    void settle() {
        auto &holdings = heap_.holdings();
        const std::size_t bins_may = holdings.share(Discipline::bins_slack);
        thin_out(SettlingVisit<Heap>{heap_, bins_may});
        // What is left was in use: the owner is asked to give it up. relaxed: a hint.
        heap_.inbox().asked.store(holdings.overdraft() > bins_may, std::memory_order_relaxed);
        holdings.overdraft_visited();
    }

    /// For a heap whose thread has been inactive for long: the heap keeps no more free than its share of the slack, in
    /// bins or not, apart from free blocks of nearly full superblocks. False if a fence failed, and everything stayed.
    bool retire() { return thin_out(RetiringVisit{heap_.holdings().share(Discipline::slack)}); }

private:
    using Discipline = typename Heap::Discipline;

    /// In rounds of one heavy fence each, until no more can go. False if the last fence failed.
    template <class Policy>
    bool thin_out(const Policy &policy) {
        pending_ = heap_.holdings().inbox().take();
        while (round(policy)) {
        }
        while (OwnerLine *const s = refused_.front()) {
            refused_.remove(s);
            Taking<Heap>(heap_).put_back(s);
        }
        return fenced_;
    }

    /// Takes the pending superblocks, the emptiest ones and, once in a visit, those of bins; passes one heavy fence,
    /// and gives away what may go. Whether another round may find more.
    template <class Policy>
    bool round(const Policy &policy) {
        Taking<Heap> taken(heap_);
        pending_ = taken.take_list(pending_);
        const unsigned pending = taken.count();
        const bool enough = take_emptiest(taken, policy);
        const bool bins = !bins_taken_ && !taken.full() && (Policy::all_bins || !enough);
        if (bins) {
            bins_taken_ = true;
            taken.take_bins();
        }
        if (taken.empty()) {
            return false;
        }
        fenced_ = taken.find_owner();
        const bool given = sort_out(taken, pending, policy);
        return given || bins || pending != 0;
    }

    /// Takes the emptiest superblocks while the heap is too empty by its account. Whether it would not be without
    /// these.
    template <class Policy>
    bool take_emptiest(Taking<Heap> &taken, const Policy &policy) {
        auto &holdings = heap_.holdings();
        std::size_t used = holdings.used();
        std::size_t held = holdings.held();
        while (policy.too_empty(used, held)) {
            OwnerLine *const s = taken.full() ? nullptr : holdings.places().emptiest(holdings.movable);
            if (s == nullptr) {
                return false;
            }
            holdings.places().take_out(s);
            used -= holdings.used_by(s);
            held -= superblock::held_by(s);
            if (!taken.has(s)) { // else it was pending too
                taken.take(s);
            }
        }
        return true;
    }

    /// Accounts for all that was taken before the first superblock goes. Superblocks of bins that have live blocks are
    /// decided last: perhaps no more need go then. Whether the global heap got a superblock or refused one: others may
    /// go then.
    template <class Policy>
    bool sort_out(Taking<Heap> &taken, unsigned pending, const Policy &policy) {
        taken.keep_if(
            [&](OwnerLine *s, unsigned number) { return examine<Policy>(taken, s, number < pending); });
        bool given = false;
        for (const bool in_bin : {false, true}) {
            taken.keep_if([&](OwnerLine *s, unsigned) {
                if (!in_bin && s->place == Place::current && s->accounted != 0) {
                    return true;
                }
                given |= give_or_put_back(taken, s, policy);
                return false;
            });
        }
        return given;
    }

    /// Accounts for a superblock. False if the owner may be using it, and it stays: then a notice about it stays
    /// pending. Uncarved memory of a superblock with live blocks serves no other heap: it goes back to the operating
    /// system, since memory is about to grow; but not where blocks were carved since the last visit, as the heap would
    /// soon touch this memory again.
    template <class Policy>
    bool examine(Taking<Heap> &taken, OwnerLine *s, bool pending) {
        if (taken.in_use(s)) {
            taken.put_back(s);
            if (pending) {
                heap_.inbox().put_back(s, Heap::Notice::pending_bytes(s));
            }
            return false;
        }
        if (pending) {
            Heap::Notice::acknowledge(s);
        }
        heap_.holdings().account(s);
        if (!pending && s->accounted != 0 && (Policy::all_bins || !superblock::take_carved_flag(s))) {
            heap_.holdings().drop_uncarved(s);
        }
        return true;
    }

    /// Gives a superblock to the global heap, if the heap is too empty and the superblock may go; else puts it back.
    /// Whether the global heap got it or refused it.
    template <class Policy>
    bool give_or_put_back(Taking<Heap> &taken, OwnerLine *s, const Policy &policy) {
        auto &holdings = heap_.holdings();
        if (s->place == Place::current && policy.leaves_bin(s)) {
            s->place = Place::nowhere;
        }
        holdings.relink(s);
        if (policy.too_empty(holdings.used(), holdings.held()) && movable(s)) {
            if (!holdings.give(s)) {
                refused_.push_front(s);
            }
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
    OwnerLine *pending_ = nullptr; ///< taken from the inbox, and not looked at
    LineList refused_;             ///< a notice about each is on its way: put back when the visit ends
    bool bins_taken_ = false;
    bool fenced_ = true; ///< the last round's fence did not fail
    bool in_;
};

} // namespace cairn
