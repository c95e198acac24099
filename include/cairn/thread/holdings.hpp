// SPDX-License-Identifier: MIT
//
// Holdings: the superblocks of a thread heap that are not in its bins, with the account of all its superblocks, and the
// way to the global heap.
//
// Adds:    superblocks by fullness; the processing of notices; the release of superblocks beyond the invariant.
// Needs:   GlobalHeap below.
// Keeps:   a heap that is too empty is on the list of those to visit. Each superblock is in one list.
// Threads: one at a time: the heap's own thread in a long section (sync::Presence), or a visiting thread. Notices may
//          arrive from any thread.
// Cost:    some tens of instructions at each check; a lock for each superblock that moves.
// Source:  Hoard, sections 3.1 and 3.4; accounted at check thresholds, not at each call.
#pragma once

#include <cairn/superblock/account.hpp>
#include <cairn/superblock/global_heap.hpp>
#include <cairn/thread/overdraft.hpp>
#include <cairn/thread/recent_superblocks.hpp>

#include <utility>

namespace cairn {

template <class Global>
class Holdings {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;
    using Account = cairn::Account<Classes, Discipline>;

    constexpr Holdings() = default;

    /// `own_heap`: the ThreadHeap that has these holdings.
    void open(Global &global, unsigned number, void *own_heap) {
        global_ = &global;
        number_ = number;
        inbox_.heap = own_heap;
        owner_ = own_heap;
        global.notices().inboxes().set(number, &inbox_);
    }

    Global &global() { return *global_; }
    unsigned number() const { return number_; }
    void *heap() const { return owner_; }

    /// From now on the fast path of free takes no superblock for this heap's.
    void hide() { owner_ = Global::Notice::hidden(owner_); }

    Inbox &inbox() { return inbox_; }

    std::size_t used() const { return account_.used(); }
    std::size_t held() const { return account_.held(); }
    static std::size_t used_by(const OwnerLine *s) { return Account::used_by(s); }
    void join(OwnerLine *s) { account_.join(s); }
    void leave(OwnerLine *s) { account_.leave(used_by(s), superblock::held_by(s)); }
    /// Checks a superblock: counts its live blocks and sets its check threshold.
    void account(OwnerLine *s) { account_.recount(s); }
    std::uint32_t carve(OwnerLine *s) { return account_.carve(s); }
    void drop_uncarved(OwnerLine *s) { global_->untouch(account_.drop_uncarved(s)); }

    Places<Classes::count> &places() { return places_; }
    RecentSuperblocks<Classes::count> &recent() { return recent_; }

    /// Checks a superblock and moves it to the list that matches its count, unless it is in a bin.
    void relink(OwnerLine *s) {
        account(s);
        if (s->place != Place::current) {
            places_.take_out(s);
            put(s);
        }
    }

    /// Puts a superblock into the list that matches its count. No malloc is to keep a nearly empty one from becoming
    /// empty by the way of the recent superblock. None may take a block from one without live blocks, which may be
    /// given to another class at any time.
    CAIRN_INLINE void put(OwnerLine *s) {
        if (s->accounted < recent_.least_live) {
            recent_.forget(s);
        }
        places_.put(s);
    }

    /// While the heap is too empty: gives away superblocks without live blocks, and those of fullness groups below
    /// `groups`. In slow paths `groups` is 0: later frees of a partly filled superblock's blocks would all be remote
    /// frees, so it stays until another heap needs it.
    void give_surplus(unsigned groups = movable) {
        give_each([&] { return overdraft() != 0 ? places_.emptiest(groups) : nullptr; });
    }

    /// How many fullness groups, from the emptiest on, have superblocks that are at least f empty.
    static constexpr unsigned movable = Discipline::template movable_groups<Places<Classes::count>::groups>;

    /// Gives a superblock to the global heap. False while a notice about it is on its way: then it is in no list and
    /// has no owner.
    bool give(OwnerLine *s) {
        places_.take_out(s);
        recent_.forget(s);
        const std::size_t used = used_by(s), held = superblock::held_by(s);
        if (!global_->release(s, number_)) {
            return false;
        }
        account_.leave(used, held);
        given_ = true;
        return true;
    }

    /// Whether a superblock was given since the last call.
    bool take_given_flag() { return std::exchange(given_, false); }

    /// Makes a superblock of the account this heap's again, in whatever list.
    void own(OwnerLine *s) { Global::Notice::own(s, heap()); }

    /// By how much the touched bytes exceed what the invariant allows; 0 where it holds (Emptiness::overdraft).
    std::size_t overdraft() const { return Discipline::overdraft(used(), held()); }

    /// How much of a limit of `bytes` this heap may have free (GlobalHeap::share).
    std::size_t share(std::size_t bytes) const { return global_->share(bytes); }

    /// Makes an overdraft of `bytes` known to the threads that may visit the heap before memory grows.
    void note_overdraft(std::size_t bytes) {
        overdraft_.note<Discipline>(bytes, inbox_, global_->notices().wanted_visits());
    }
    Overdraft &watched() { return overdraft_; }
    void overdraft_visited() { overdraft_.visited(overdraft(), inbox_); }

    /// Gives each superblock that next() returns to the global heap. Superblocks that have to stay return to their
    /// lists at the end.
    template <class Next>
    void give_each(Next next) {
        LineList refused;
        while (OwnerLine *const s = next()) {
            if (!give(s)) {
                refused.push_front(s);
            }
        }
        while (OwnerLine *const s = refused.front()) {
            refused.remove(s);
            own(s);
            relink(s);
        }
    }

    /// Processes all notices in the inbox.
    void empty_inbox() {
        if (!inbox_.empty()) {
            take_notices();
        }
    }

    /// Processes the notice about a superblock: checks it. The next step of remote frees sends another notice.
    void take_notice(OwnerLine *s) {
        Global::Notice::acknowledge(s);
        relink(s);
    }

    /// In the child of a fork, for the heap that survives: a notice may have been on its way in a thread that the child
    /// does not have.
    void forget_notices() {
        overdraft_ = {};
        inbox_.reset_after_fork();
    }

    void reset_after_fork() {
        places_ = {};
        recent_.forget();
        account_ = {};
        forget_notices();
    }

private:
    CAIRN_NOINLINE void take_notices() {
        for (OwnerLine *s = inbox_.take(), *behind = nullptr; s != nullptr; s = behind) {
            // relaxed: the inbox's take() has acquired it.
            behind = remote_of(s)->pending_next.load(std::memory_order_relaxed);
            take_notice(s);
        }
    }

    Global *global_ = nullptr;
    unsigned number_ = 0;
    bool given_ = false;    ///< since take_given_flag()
    void *owner_ = nullptr; ///< this heap, for Notices::own(); hidden after hide()
    Account account_;
    Overdraft overdraft_;
    Places<Classes::count> places_;
    RecentSuperblocks<Classes::count> recent_;
    Inbox inbox_;
};

} // namespace cairn
