// SPDX-License-Identifier: MIT
//
// Holdings: the superblocks of a thread heap but for those in its bins, with the account of all of them (u
// and a), and the border to the global heap.
//
// Adds:    places by fullness; settle, which takes in notices and keeps the emptiness invariant.
// Needs:   GlobalHeap below.
// Keeps:   the emptiness invariant after each settle(); every superblock held is in exactly one place.
// Threads: the heap's own thread, or who holds its guard; notices may arrive from any.
// Cost:    some tens of instructions at each border, a lock for each superblock that moves.
// Source:  Hoard, sections 3.1 and 3.2, with the accounting done at borders instead of at each call.
#pragma once

#include <cairn/superblock/global_heap.hpp>

namespace cairn {

template <class Global>
class Holdings {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;

    constexpr Holdings() = default;

    void open(Global &global, unsigned number) {
        global_ = &global;
        number_ = number;
        global.notices().enroll(number, &tray_);
    }

    Global &global() { return *global_; }
    unsigned number() const { return number_; }
    PendingSuperblocks &tray() { return tray_; }

    std::size_t used() const { return used_; } ///< u: live bytes as last accounted
    std::size_t held() const { return held_; } ///< a: touched bytes of the superblocks held

    /// A superblock is new here.
    void join(OwnerLine *s) {
        Discipline::rearm(s);
        used_ += block_bytes(s, s->accounted = s->live());
        held_ += s->extent;
    }

    /// Brings u up to date for one superblock and sets its next border.
    void account(OwnerLine *s) {
        used_ += block_bytes(s, s->live()) - block_bytes(s, s->accounted);
        s->accounted = s->live();
        Discipline::rearm(s);
    }

    void carve(OwnerLine *s) {
        const std::uint32_t before = s->extent;
        superblock::carve(s);
        held_ += s->extent - before;
    }

    Places<Classes::count> &places() { return places_; }

    /// Accounts for a superblock and, if it is in no bin, finds its new place.
    void place_anew(OwnerLine *s) {
        account(s);
        if (s->place != Place::current) {
            places_.take_out(s);
            places_.put(s);
        }
    }

    /// Takes in notices of remote frees and keeps the invariant; part of every slow path.
    void settle() {
        empty_tray();
        SuperblockList refused;
        while (Discipline::too_empty(used_, held_)) {
            OwnerLine *const s = places_.emptiest(movable_groups_);
            if (s == nullptr) {
                break;
            }
            give(s, refused);
        }
        take_back(refused);
    }

    /// Free bytes, where settle() could not keep the invariant with what is in no bin; else 0.
    std::size_t overdraft() const { return Discipline::too_empty(used_, held_) ? held_ - used_ : 0; }

    /// Everything to the global heap. A superblock about which a notice is still on its way stays; who
    /// delivers the notice sees to it.
    void give_all() {
        SuperblockList refused;
        while (OwnerLine *s = places_.any()) {
            give(s, refused);
        }
        take_back(refused);
    }

    /// The superblocks without live blocks, down to the free runs. False if there was none to give.
    bool give_empty() {
        const std::size_t before = held_;
        SuperblockList refused;
        while (OwnerLine *s = places_.empty()) {
            give(s, refused);
        }
        take_back(refused);
        return held_ != before;
    }

    void empty_tray() {
        if (!tray_.empty()) {
            take_notices();
        }
    }

    /// Takes in what others have freed. Clears `queued`: the next step of remote frees sends a new notice.
    /// acq_rel: acquire for the blocks, pairs with the pushes; release, so that who queues it next writes
    /// pending_next after we have read it.
    void take_notice(OwnerLine *s) {
        superblock::take_in(
            s, {shared_of(s)->remote.fetch_and(RemoteWord::owner_mask, std::memory_order_acq_rel)});
        place_anew(s);
    }

    /// In the child of a fork, for the heap that survives: a notice may have been on its way in another thread.
    void forget_notices() { tray_.reset_after_fork(); }

    void reset_after_fork() {
        places_ = {};
        used_ = 0;
        held_ = 0;
        tray_.reset_after_fork();
    }

private:
    static constexpr unsigned movable_groups_ =
        Discipline::template movable_groups<Places<Classes::count>::groups>;

    static std::size_t block_bytes(const OwnerLine *s, std::uint32_t blocks) {
        return std::size_t{blocks} * Classes::size_of(s->size_class);
    }

    CAIRN_NOINLINE void take_notices() {
        for (OwnerLine *s = tray_.take(), *behind = nullptr; s != nullptr; s = behind) {
            // relaxed: take() has acquired it.
            behind = shared_of(s)->pending_next.load(std::memory_order_relaxed);
            take_notice(s);
        }
    }

    /// To the global heap, or among those that have to stay for now.
    void give(OwnerLine *s, SuperblockList &refused) {
        places_.take_out(s);
        const std::size_t used = block_bytes(s, s->accounted);
        const std::size_t extent = s->extent;
        if (!global_->release(s, number_)) {
            refused.push_front(s);
            return;
        }
        used_ -= used;
        held_ -= extent;
    }

    void take_back(SuperblockList &refused) {
        while (OwnerLine *s = refused.front()) {
            refused.remove(s);
            place_anew(s);
        }
    }

    Global *global_ = nullptr;
    unsigned number_ = 0;
    std::size_t used_ = 0;
    std::size_t held_ = 0;
    Places<Classes::count> places_;
    PendingSuperblocks tray_;
};

} // namespace cairn
