// SPDX-License-Identifier: MIT
//
// Run stripes: the free runs in stripes, each with its own lock, so that threads that allocate and free large blocks
// contend neither for a lock nor for the descriptors of adjacent runs.
//
// Adds:    allocation from a home stripe, and from the other stripes if no run of the home stripe fits; purging of all.
// Needs:   PurgingRuns, one for each stripe; those of all stripes but the first are mapped when they are opened.
// Keeps:   all runs of a segment are in one stripe, whose number is in the segment.
// Threads: any; a thread holds the lock of one stripe at a time.
// Errors:  without memory for a stripe, its segments are the first one's.
// Cost:    a lock and a bitmap search; if no run of the home stripe fits, one for each stripe with enough free bytes.
// Source:  per-processor heaps, from each of which memory can move to all others (Hoard, section 3), for runs.
#pragma once

#include <cairn/run/purging_runs.hpp>

#include <algorithm>

namespace cairn {

class RunStripes {
public:
    static constexpr unsigned most = 8;

    constexpr RunStripes() = default;
    RunStripes(const RunStripes &) = delete;
    RunStripes &operator=(const RunStripes &) = delete;

    /// The stripe of a run.
    PurgingRuns &of(const OwnerLine *run) { return *at(Segment::of(run)->stripe); }

    /// Before a stripe gets a segment; the caller holds the lock of growth. Without memory for it, `stripe` becomes 0.
    PurgingRuns &open(unsigned &stripe) {
        if (at(stripe) == nullptr) {
            const std::size_t bytes = align_up(sizeof(PurgingRuns), platform::vm::page_size());
            PurgingRuns *const opened = PurgingRuns::in_zeroed(platform::vm::map(bytes));
            stripe = opened != nullptr ? stripe : 0;
            // release: pairs with the acquire of at().
            stripes_[stripe].store(opened != nullptr ? opened : &first_, std::memory_order_release);
        }
        count_.store(std::max(stripe + 1, count()), std::memory_order_relaxed);
        return *at(stripe);
    }

    unsigned count() const { return count_.load(std::memory_order_relaxed); }

    /// A run of one kind, from the home stripe if it has one that fits, otherwise from another stripe.
    Run take(unsigned slots, unsigned alignment, SlotKind kind, unsigned home) {
        return from_any(home, [=](PurgingRuns *s) { return take_from(s, slots, alignment, kind); });
    }
    /// A run of dirty and clean slots, from the home stripe if it has one that fits, otherwise from another stripe.
    Run take_mixed(unsigned slots, unsigned alignment, unsigned home) {
        return from_any(home, [=](PurgingRuns *s) { return mixed_from(s, slots, alignment); });
    }
    Run take_at_home(unsigned slots, unsigned alignment, SlotKind kind, unsigned home) {
        return take_from(at(home), slots, alignment, kind);
    }

    /// Whether a dirty free run fits. A hint: other threads allocate runs too.
    bool has_dirty(unsigned slots, unsigned alignment) {
        return any([=](PurgingRuns &stripe) {
            if (stripe.dirty_bytes() < slots * slot_size) {
                return false;
            }
            sync::Guard hold(stripe.lock());
            return stripe.runs().has_dirty(slots, alignment);
        });
    }

    std::size_t dirty_bytes(unsigned stripe) const {
        const PurgingRuns *const opened = at(stripe);
        return opened != nullptr ? opened->dirty_bytes() : 0;
    }
    std::size_t dirty_bytes() const { return bytes(SlotKind::free_dirty); }
    std::size_t clean_bytes() const { return bytes(SlotKind::free_clean); }
    std::size_t refused_bytes() const {
        return sum([](const PurgingRuns &stripe) { return stripe.refused_bytes(); });
    }
    void forget_refused() {
        for_each([](PurgingRuns &stripe) { stripe.forget_refused(); });
    }

    /// Gives back dirty memory until at most `keep` bytes are left. Returns the bytes given back.
    std::size_t purge(std::size_t keep) {
        std::size_t bytes = 0;
        for_each([&](PurgingRuns &stripe) {
            const std::size_t others =
                sum([&](const PurgingRuns &other) { return &other != &stripe ? other.dirty_bytes() : 0; });
            sync::Guard hold(stripe.lock());
            bytes += stripe.purge_locked(keep > others ? keep - others : 0);
        });
        return bytes;
    }

    /// One tick of the purge clock: gives back the memory that was free during the whole last period, except for `keep`
    /// bytes.
    void purge_idle(std::size_t keep) {
        for_each([&](PurgingRuns &stripe) {
            sync::Guard hold(stripe.lock());
            keep -= stripe.purge_idle_locked(keep);
        });
    }

    /// Out of memory: waits a little for other threads that have taken runs to purge them or to back them with huge
    /// pages. False when there are no such threads.
    bool wait_for_others(int tries) {
        const bool some = any([](PurgingRuns &stripe) {
            sync::Guard hold(stripe.lock());
            return stripe.in_flight_locked();
        });
        if (some) {
            platform::wait_a_little(tries);
        }
        return some;
    }

    template <class S>
    void statistics(S &out) {
        for_each([&](PurgingRuns &stripe) {
            const sync::Glance hold(stripe.lock());
            stripe.statistics_locked(out);
        });
    }

    void repair_after_fork() {
        for_each([](PurgingRuns &stripe) { stripe.repair_after_fork(); });
    }

private:
    /// A stripe; nullptr if it was never opened. acquire: pairs with the release of open().
    PurgingRuns *at(unsigned stripe) const { return stripes_[stripe].load(std::memory_order_acquire); }

    template <class From>
    CAIRN_INLINE Run from_any(unsigned home, From from) {
        Run run = from(at(home));
        for (unsigned i = 0; run.first == nullptr && i < count(); ++i) {
            if (i != home) {
                run = from(at(i));
            }
        }
        return run;
    }

    static Run take_from(PurgingRuns *stripe, unsigned slots, unsigned alignment, SlotKind kind) {
        if (stripe == nullptr || stripe->bytes(kind) < slots * slot_size) {
            return {};
        }
        sync::Guard hold(stripe->lock());
        return stripe->runs().take(slots, alignment, kind);
    }

    static Run mixed_from(PurgingRuns *stripe, unsigned slots, unsigned alignment) {
        if (stripe == nullptr || stripe->dirty_bytes() < slots * slot_size / 2) {
            return {};
        }
        sync::Guard hold(stripe->lock());
        return stripe->runs().take_mixed(slots, alignment);
    }

    template <class F>
    void for_each(F f) const {
        for (unsigned i = 0; i < count(); ++i) {
            if (PurgingRuns *const stripe = at(i)) {
                f(*stripe);
            }
        }
    }
    template <class Has>
    bool any(Has has) const {
        bool found = false;
        for_each([&](PurgingRuns &stripe) { found = found || has(stripe); });
        return found;
    }
    template <class Bytes>
    CAIRN_INLINE std::size_t sum(Bytes bytes) const {
        std::size_t all = 0;
        for_each([&](const PurgingRuns &stripe) { all += bytes(stripe); });
        return all;
    }
    CAIRN_INLINE std::size_t bytes(SlotKind kind) const {
        return sum([=](const PurgingRuns &stripe) { return stripe.bytes(kind); });
    }

    PurgingRuns first_;
    std::atomic<PurgingRuns *> stripes_[most]{&first_}; ///< null: not opened
    std::atomic<unsigned> count_{1}; ///< relaxed: a stripe beyond an old count has no free runs yet
};

} // namespace cairn
