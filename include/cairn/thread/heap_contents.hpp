// SPDX-License-Identifier: MIT
//
// Heap contents: the superblocks of one heap, in its bins and its holdings, and what whoever has the heap to himself does
// with them.
//
// Adds:    filling a bin, keeping the emptiness invariant, giving all of it up.
// Needs:   Holdings, and GlobalHeap below.
// Keeps:   every superblock of the heap is in one bin or one place of its holdings.
// Threads: one at a time: the heap's own, inside (sync::Presence), or a visitor.
// Errors:  nullptr when the global heap has nothing.
// Source:  Hoard, sections 3 and 4.
#pragma once

#include <cairn/thread/bins.hpp>
#include <cairn/thread/bins_watch.hpp>
#include <cairn/thread/next_superblock.hpp>

namespace cairn {

template <class Global>
class HeapContents {
public:
    using Classes = typename Global::SizeClasses;
    using Discipline = typename Global::Emptiness;
    using Bin = Bins<Classes::count>;

    constexpr HeapContents() = default;

    /// The superblocks to allocate from; and what of them the fast paths find.
    Bin &bins() { return hidden_ ? hidden_bins_ : shown_bins_; }
    CAIRN_INLINE const Bin &shown_bins() const { return shown_bins_; }
    Holdings<Global> &holdings() { return holdings_; }

    /// A block of any class; nullptr when out of memory, or when visits come first.
    void *malloc(unsigned c, Growth growth) {
        OwnerLine *s = bins().at(c);
        if (superblock::is_end(s->free) && (s = refill(c, growth)) == nullptr) {
            return nullptr;
        }
        return superblock::pop(s, span_of(s));
    }

    /// Gives up superblocks without live blocks while the heap is too empty, and says so if it still is; part of every slow path.
    void settle() {
        holdings_.empty_tray();
        if (CAIRN_LIKELY(holdings_.overdraft() == 0)) {
            watch_.slow_path(0);
            holdings_.no_overdraft();
        } else {
            settle_overdraft();
        }
        if (CAIRN_UNLIKELY(holdings_.tray().asked.load(std::memory_order_relaxed))) { // relaxed: a hint
            visit_myself();
            holdings_.note_overdraft();
        }
    }

    /// Every superblock to the global heap, but for those about which a notice is on its way.
    void give_all() {
        holdings_.empty_tray();
        empty_bins([](const OwnerLine *) { return true; });
        holdings_.give_all();
    }

    /// The superblocks without live blocks. False if there was none.
    bool give_empty() {
        empty_bins([](const OwnerLine *s) { return s->accounted == 0; });
        settle();
        return holdings_.give_empty();
    }

    /// From now on the fast paths find nothing here. The superblocks that they know go to the global heap.
    void hide() {
        holdings_.hide();
        give_all();
        hidden_ = true;
    }

    /// In the child of a fork: the global heap has adopted everything.
    void forget() {
        bins().forget();
        holdings_.reset_after_fork();
    }

private:
    CAIRN_NOINLINE void settle_overdraft() {
        holdings_.give_surplus(0);
        const std::size_t overdraft = holdings_.overdraft();
        watch_.slow_path(overdraft);
        if (watch_.is_due(overdraft, holdings_.share(Discipline::bins_step), Discipline::bins_patience)) {
            thin_bins();
        }
        holdings_.note_overdraft();
    }

    /// Makes the bin of class c able to pop. nullptr as for malloc().
    CAIRN_NOINLINE OwnerLine *refill(unsigned c, Growth growth) {
        settle();
        Bin &all = bins();
        OwnerLine *s = all.is_empty(c) ? next_superblock(holdings_, c, growth) : all.at(c);
        while (s != nullptr && superblock::is_end(s->free) && !replenish(s)) {
            all.hide(c);
            holdings_.places().put(s);
            s = next_superblock(holdings_, c, growth);
        }
        if (s != nullptr) {
            all.fill(c, s);
        }
        return s;
    }

    /// A bin goes on with the fullest superblock of its class: emptier ones become empty.
    CAIRN_COLD void thin_bins() {
        for (auto slack = bins().slack(); slack.free_bytes > holdings_.share(Discipline::bins_slack);) {
            holdings_.place_anew(bins().take(slack.take_widest()));
        }
        holdings_.give_surplus(0);
        watch_.looked(holdings_.overdraft());
    }

    /// What a visitor wanted to do, who met us inside: memory was about to grow.
    CAIRN_COLD void visit_myself() {
        holdings_.tray().asked.store(false, std::memory_order_relaxed);
        holdings_.give_surplus();
        if (holdings_.overdraft() == 0) {
            return;
        }
        empty_bins([this](OwnerLine *s) {
            if (s->accounted != 0) {
                holdings_.drop_uncarved(s);
            }
            return s->accounted == 0;
        });
        thin_bins();
        holdings_.give_surplus();
    }

    /// Those for which leaves() holds.
    template <class Leaves>
    void empty_bins(Leaves leaves) {
        for (unsigned c = 0; c < Classes::count; ++c) {
            if (!bins().is_empty(c)) {
                OwnerLine *const s = bins().at(c);
                holdings_.account(s);
                if (leaves(s)) {
                    holdings_.place_anew(bins().take(c));
                }
            }
        }
    }

    void carve(OwnerLine *s) {
        touched_ += holdings_.carve(s);
        if (CAIRN_UNLIKELY(touched_ >= holdings_.share(slot_size))) {
            holdings_.global().pay(touched_);
            touched_ = 0;
        }
    }

    /// Blocks that others have freed, else new ones cut from the superblock.
    bool replenish(OwnerLine *s) {
        if (superblock::is_end(s->free) && superblock::has_remote_frees(s)) {
            superblock::collect(s);
        }
        if (superblock::is_end(s->free) && s->carved != shared_of(s)->capacity) {
            carve(s);
        }
        holdings_.account(s);
        return !superblock::is_end(s->free);
    }

    Bin shown_bins_;
    bool hidden_ = false;
    std::uint32_t touched_ = 0; ///< bytes touched for the first time, to be paid a slot at a time
    BinsWatch watch_;
    Holdings<Global> holdings_;
    Bin hidden_bins_; ///< last: of use only where the fast paths are to find nothing
};

} // namespace cairn
