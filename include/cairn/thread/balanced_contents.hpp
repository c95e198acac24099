// SPDX-License-Identifier: MIT
//
// Balanced contents: the superblocks of one heap, in its bins and its holdings, and the limits of what may be free of
// them.
//
// Adds:    settle, which rebalances the heap; the payment for touched memory; the release of all superblocks.
// Needs:   Holdings, and GlobalHeap below.
// Keeps:   every superblock of the heap is in one bin or one list of its holdings.
// Threads: one at a time: the heap's own thread in a long section (sync::Presence), or a visiting thread.
// Cost:    settle: some 20 instructions while the heap's overdraft hardly changes.
// Source:  Hoard, section 3.1.
#pragma once

#include <cairn/thread/bins.hpp>
#include <cairn/thread/bins_watch.hpp>
#include <cairn/thread/leaving.hpp>

#include <algorithm>

namespace cairn {

template <class Global>
class BalancedContents {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;
    using Bins = cairn::Bins<Classes::count>;

    constexpr BalancedContents() = default;

    /// bins: the superblocks to allocate from. shown_bins: those of them that the fast paths find.
    Bins &bins() { return hidden_ ? hidden_bins_ : shown_bins_; }
    CAIRN_INLINE const Bins &shown_bins() const { return shown_bins_; }
    Holdings<Global> &holdings() { return holdings_; }

    /// Rebalances the heap: processes its inbox, gives away superblocks without live blocks while the heap is too
    /// empty, and makes known that it still is. Part of every slow path.
    CAIRN_INLINE void settle() {
        holdings_.empty_inbox();
        const std::size_t overdraft = holdings_.overdraft();
        if (CAIRN_UNLIKELY((overdraft != 0 && holdings_.places().empty() != nullptr) ||
                           !holdings_.watched().take_calm_path(overdraft))) {
            settle_overdraft(overdraft);
        }
        if (CAIRN_UNLIKELY(holdings_.inbox().asked.load(std::memory_order_relaxed))) { // relaxed: a hint
            visit_myself();
            holdings_.note_overdraft(holdings_.overdraft());
        }
    }

    /// All superblocks go to the global heap, or all but full ones. Those about which a notice is on its way stay: the
    /// thread that delivers it sees to them.
    void hand_over(Keep keep) {
        holdings_.empty_inbox();
        empty_bins([](const OwnerLine *) { return true; });
        if (keep == Keep::nothing) {
            give_all(holdings_);
            return;
        }
        check_all(holdings_);
        give_partly_filled(holdings_);
    }

    /// After a notice to a heap without a thread: the superblocks with a notice go, and those that had to stay before.
    void hand_over_unowned() {
        give_noticed(holdings_);
        give_partly_filled(holdings_);
    }

    /// Gives away all superblocks without live blocks. False if no superblock went.
    bool give_empty() {
        empty_bins([](const OwnerLine *s) { return s->accounted == 0; });
        settle();
        return cairn::give_empty(holdings_);
    }

    /// From now on the fast paths find nothing in this heap. The superblocks that they know go to the global heap.
    void hide() {
        holdings_.hide();
        hand_over(Keep::nothing);
        hidden_ = true;
    }

    /// In the child of a fork: the heap has no superblock; those that it had are orphans.
    void forget() {
        bins().forget();
        holdings_.reset_after_fork();
    }

protected:
    /// Carves blocks of a superblock, and pays for what this touches for the first time (GlobalHeap::pay).
    void carve(OwnerLine *s) {
        touched_ += holdings_.carve(s);
        if (CAIRN_UNLIKELY(touched_ >= holdings_.share(slot_size))) {
            holdings_.global().pay(touched_);
            touched_ = 0;
        }
    }

private:
    CAIRN_NOINLINE void settle_overdraft(std::size_t overdraft) {
        if (overdraft != 0 && holdings_.places().empty() != nullptr) {
            holdings_.give_surplus(0);
            overdraft = holdings_.overdraft();
        }
        watch_.slow_path(overdraft, 1 + holdings_.watched().calm_paths());
        const std::size_t step =
            std::max(holdings_.share(Discipline::bins_step), holdings_.held() / Discipline::bins_part);
        if (CAIRN_UNLIKELY(watch_.is_due(overdraft, Discipline::bins_patience, step))) {
            thin_bins();
            overdraft = holdings_.overdraft();
        }
        holdings_.note_overdraft(overdraft);
        holdings_.watched().template calm<Discipline>(watch_.seen_at(), watch_.seen_at() + step,
                                                      holdings_.inbox());
    }

    /// Puts the superblocks with the most free bytes out of the bins, until the bins' limit is kept. A bin then takes
    /// the fullest superblock of its class, so that the emptier ones may become empty.
    CAIRN_COLD void thin_bins() {
        for (auto slack = bins().slack(); slack.free_bytes > holdings_.share(Discipline::bins_slack);) {
            holdings_.relink(bins().take(slack.take_widest()));
        }
        holdings_.give_surplus(0);
        watch_.measured(holdings_.overdraft());
    }

    /// Does the work of a visiting thread that met the owner in a long section, when memory was about to grow.
    CAIRN_COLD void visit_myself() {
        holdings_.inbox().asked.store(false, std::memory_order_relaxed);
        holdings_.give_surplus();
        if (holdings_.overdraft() == 0) {
            return;
        }
        empty_bins([this](OwnerLine *s) {
            if (s->accounted != 0 && !superblock::take_carved_flag(s)) {
                holdings_.drop_uncarved(s);
            }
            return s->accounted == 0;
        });
        thin_bins();
        holdings_.give_surplus();
    }

    /// Checks the superblocks of all bins, and takes those out for which leaves() holds.
    template <class Leaves>
    void empty_bins(Leaves leaves) {
        for (unsigned c = 0; c < Classes::count; ++c) {
            if (!bins().is_empty(c)) {
                OwnerLine *const s = bins().at(c);
                holdings_.account(s);
                if (leaves(s)) {
                    holdings_.relink(bins().take(c));
                }
            }
        }
    }

    Bins shown_bins_;
    bool hidden_ = false;
    std::uint32_t touched_ = 0; ///< bytes touched for the first time and not paid for; paid a slot at a time
    BinsWatch watch_;
    Holdings<Global> holdings_;
    Bins hidden_bins_; ///< after hide(); last, since few processes use them
};

} // namespace cairn
