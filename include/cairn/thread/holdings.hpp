// SPDX-License-Identifier: MIT
//
// Holdings: the superblocks of a thread heap but for those in its bins, with the account of all of them (u
// and a), and the border to the global heap.
//
// Adds:    places by fullness; taking in notices; giving up what the invariant does not allow.
// Needs:   GlobalHeap below.
// Keeps:   a heap that is too empty is on the list of those to visit; each superblock is in one place.
// Threads: one at a time: the heap's own, inside (sync::Presence), or a visitor; notices may arrive from any.
// Cost:    some tens of instructions at each border, a lock for each superblock that moves.
// Source:  Hoard, sections 3.1 and 3.4, with the accounting done at borders instead of at each call.
#pragma once

#include <cairn/superblock/account.hpp>
#include <cairn/superblock/global_heap.hpp>
#include <cairn/thread/overdraft.hpp>

#include <utility>

namespace cairn {

template <class Global>
class Holdings {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;
    using Account = cairn::Account<Classes, Discipline>;

    constexpr Holdings() = default;

    /// `own_heap`: whose holdings these are, as SharedLine::owner names it.
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
    /// Brings the account of one superblock up to date and sets when the next check is due.
    void account(OwnerLine *s) { account_.recount(s); }
    std::uint32_t carve(OwnerLine *s) { return account_.carve(s); }
    void drop_uncarved(OwnerLine *s) { global_->untouch(account_.drop_uncarved(s)); }

    Places<Classes::count> &places() { return places_; }

    /// Accounts for a superblock and, if it is in no bin, finds its new place.
    void place_anew(OwnerLine *s) {
        account(s);
        if (s->place != Place::current) {
            places_.take_out(s);
            places_.put(s);
        }
    }

    /// While the heap is too empty: superblocks without live blocks, and those of the fullness groups below the limit. In slow paths
    /// there are none of these, whose frees would all be remote from then on: they stay until somebody needs them.
    void give_surplus(unsigned groups = movable) {
        give_each([&] { return overdraft() != 0 ? places_.emptiest(groups) : nullptr; });
    }

    /// Fullness groups of superblocks that are at least f empty.
    static constexpr unsigned movable = Discipline::template movable_groups<Places<Classes::count>::groups>;

    /// To the global heap. False, and it is in no place and owned by nobody, while a notice about it is on its way.
    bool give(OwnerLine *s) {
        places_.take_out(s);
        const std::size_t used = used_by(s), held = superblock::held_by(s);
        if (!global_->release(s, number_)) {
            return false;
        }
        account_.leave(used, held);
        given_ = true;
        return true;
    }

    /// Whether anything was given since the last question.
    bool take_given_flag() { return std::exchange(given_, false); }

    /// A superblock of the account, in whatever place, is for the heap's thread to use.
    void own(OwnerLine *s) { Global::Notice::own(s, heap()); }

    /// What a has beyond u / (1 - f), where the invariant does not hold; else 0.
    std::size_t overdraft() const { return Discipline::overdraft(used(), held()); }

    /// Of so many bytes, what a heap may have free, with so many in use.
    std::size_t share(std::size_t bytes) const { return global_->share(bytes); }

    /// For others to know, who may visit the heap before memory grows: that there is so much overdraft.
    void note_overdraft(std::size_t bytes) {
        overdraft_.note<Discipline>(bytes, inbox_, global_->notices().wanted_visits());
    }
    Overdraft &watched() { return overdraft_; }
    void overdraft_visited() { overdraft_.visited(overdraft(), inbox_); }

    /// What next() finds, one after the other, to the global heap; what has to stay finds its place behind all. Whether any had to.
    template <class Next>
    bool give_each(Next next) {
        LineList refused;
        while (OwnerLine *const s = next()) {
            if (!give(s)) {
                refused.push_front(s);
            }
        }
        const bool any = !refused.empty();
        while (OwnerLine *const s = refused.front()) {
            refused.remove(s);
            own(s);
            place_anew(s);
        }
        return any;
    }

    /// The superblocks without live blocks to the global heap, but for those with a notice on its way. False if there was none to give.
    bool give_empty() {
        const std::size_t before = held();
        give_each([&] { return places_.empty(); });
        return held() != before;
    }

    void empty_inbox() {
        if (!inbox_.empty()) {
            take_notices();
        }
    }

    /// Accounts for what others have freed. The next step of remote frees sends a new notice.
    void take_notice(OwnerLine *s) {
        Global::Notice::acknowledge(s);
        place_anew(s);
    }

    /// In the child of a fork, for the heap that survives: a notice may have been on its way in another thread.
    void forget_notices() {
        overdraft_ = {};
        inbox_.reset_after_fork();
    }

    void reset_after_fork() {
        places_ = {};
        account_ = {};
        forget_notices();
    }

private:
    CAIRN_NOINLINE void take_notices() {
        for (OwnerLine *s = inbox_.take(), *behind = nullptr; s != nullptr; s = behind) {
            // relaxed: take() has acquired it.
            behind = remote_of(s)->pending_next.load(std::memory_order_relaxed);
            take_notice(s);
        }
    }

    Global *global_ = nullptr;
    unsigned number_ = 0;
    bool given_ = false;    ///< since take_given_flag()
    void *owner_ = nullptr; ///< this heap, as Notices::own() is told
    Account account_;
    Overdraft overdraft_;
    Places<Classes::count> places_;
    Inbox inbox_;
};

} // namespace cairn
