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
// Cost:    two heavy fences, one more for each batch of superblocks; the owner's fast path is not held up.
// Source:  Hoard, section 3.2: the thread that frees, whoever it is, moves a superblock to heap 0 when heap i gets too
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

    /// What the owner would do in a slow path. The bins too, as far as their superblocks have no live block: to give those
    /// away makes no two threads share a line.
    void settle() {
        take_notices();
        while (give_while(Discipline::too_empty)) {
        }
        if (heap_.holdings().overdraft() != 0) {
            empty_bins([](const OwnerLine *s) { return s->accounted == 0; });
            while (give_while(Discipline::too_empty)) {
            }
        }
        if (heap_.holdings().overdraft() > heap_.holdings().share(Discipline::bins_slack)) {
            empty_bins([](const OwnerLine *) { return true; });
            while (give_while(Discipline::too_empty)) {
            }
        }
        // What is left was in use: its owner is asked. relaxed: a hint.
        heap_.tray().asked.store(heap_.holdings().overdraft() >
                                     heap_.holdings().share(Discipline::bins_slack),
                                 std::memory_order_relaxed);
        heap_.holdings().overdraft_visited();
    }

    /// The heap's thread has not come by for long: it keeps no more than the slack free, in bins or not, apart from what
    /// nearly full superblocks have.
    void retire() {
        take_notices();
        empty_bins([](const OwnerLine *) { return true; });
        while (give_while([](std::size_t u, std::size_t a) { return a > u + Discipline::slack; })) {
        }
    }

private:
    using Discipline = typename Heap::Discipline;
    using Classes = typename Heap::Classes;
    static constexpr unsigned movable_groups =
        std::remove_reference_t<decltype(std::declval<Heap>().holdings())>::movable;

    void take_notices() {
        auto &holdings = heap_.holdings();
        for (OwnerLine *told = holdings.tray().take(); told != nullptr;) {
            Taking<Heap> taken(heap_);
            while (told != nullptr && !taken.full()) {
                OwnerLine *const s = told;
                told = shared_of(s)->pending_next.load(
                    std::memory_order_relaxed); // relaxed: take() has acquired it
                taken.take(s);
            }
            taken.find_owner();
            for (OwnerLine *s : taken) {
                if (taken.in_use(s)) {
                    taken.put_back(s);
                    holdings.tray().push(s); // its notice is still to be taken in
                } else {
                    holdings.take_notice(s);
                    if (!Discipline::too_empty(holdings.used(), holdings.held()) || !movable(s) ||
                        !holdings.give(s)) {
                        taken.put_back(s);
                    }
                }
            }
        }
    }

    static bool movable(const OwnerLine *s) {
        return s->place == Place::empty || (s->place == Place::partial && s->group < movable_groups);
    }

    /// The emptiest superblocks to the global heap, while the account says so. False if there was none to give.
    template <class TooEmpty>
    bool give_while(TooEmpty too_empty) {
        auto &holdings = heap_.holdings();
        std::size_t used = holdings.used();
        std::size_t held = holdings.held();
        Taking<Heap> taken(heap_);
        while (!taken.full() && too_empty(used, held)) {
            OwnerLine *const s = holdings.places().emptiest(movable_groups);
            if (s == nullptr) {
                break;
            }
            holdings.places().take_out(s);
            used -= holdings.used_by(s);
            held -= s->extent;
            taken.take(s);
        }
        if (taken.empty()) {
            return false;
        }
        taken.find_owner();
        bool given = false;
        for (OwnerLine *s : taken) {
            if (!taken.in_use(s)) {
                holdings.account(s);
                drop_uncarved(s);
                if (holdings.give(s)) {
                    given = true;
                    continue;
                }
            }
            taken.put_back(s);
        }
        return given;
    }

    /// What has live blocks serves nobody else: what it has not cut yet goes to the operating system. Memory is about to grow.
    void drop_uncarved(OwnerLine *s) {
        if (s->accounted != 0) {
            heap_.holdings().drop_uncarved(s);
        }
    }

    template <class Emptied>
    void empty_bins(Emptied emptied) {
        for (unsigned c = 0; c < Classes::count;) {
            Taking<Heap> taken(heap_);
            for (; c < Classes::count && !taken.full(); ++c) {
                if (!heap_.bins().is_empty(c)) {
                    taken.take(heap_.bins().at(c));
                }
            }
            if (taken.empty()) {
                return;
            }
            taken.find_owner();
            for (OwnerLine *s : taken) {
                if (!taken.in_use(s)) {
                    heap_.holdings().account(s);
                    drop_uncarved(s);
                    s->place = emptied(s) ? Place::nowhere : s->place;
                }
                taken.put_back(s);
            }
        }
    }

    Heap &heap_;
    bool in_;
};

} // namespace cairn
