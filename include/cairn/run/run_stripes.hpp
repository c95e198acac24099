// SPDX-License-Identifier: MIT
//
// Run stripes: the free runs in stripes, each with its own lock, so that threads that allocate and free large blocks
// contend neither for a lock nor for the descriptors of adjacent runs.
//
// Adds:    allocation from a home stripe, and from the other stripes if no run of the home stripe fits; purging of all.
// Needs:   PurgingRuns, one for each stripe.
// Keeps:   all runs of a segment are in one stripe, whose number is in the segment.
// Threads: any; a thread holds the lock of one stripe at a time.
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
    PurgingRuns &of(const OwnerLine *run) { return stripes_[Segment::of(run)->stripe]; }

    /// Before a stripe gets a segment; the caller holds the lock of growth.
    PurgingRuns &open(unsigned stripe) {
        const unsigned count = stripe + 1 > this->count() ? stripe + 1 : this->count();
        count_.store(count, std::memory_order_relaxed);
        return stripes_[stripe];
    }

    unsigned count() const { return count_.load(std::memory_order_relaxed); }

    /// A run of one kind, from the home stripe if it has one that fits, otherwise from another stripe.
    Run take(unsigned slots, unsigned alignment, SlotKind kind, unsigned home) {
        Run run = take_from(stripes_[home], slots, alignment, kind);
        for (unsigned i = 0; run.first == nullptr && i < count(); ++i) {
            if (i != home) {
                run = take_from(stripes_[i], slots, alignment, kind);
            }
        }
        return run;
    }
    /// A run of dirty and clean slots, from the home stripe if it has one that fits, otherwise from another stripe.
    Run take_mixed(unsigned slots, unsigned alignment, unsigned home) {
        Run run = mixed_from(stripes_[home], slots, alignment);
        for (unsigned i = 0; run.first == nullptr && i < count(); ++i) {
            if (i != home) {
                run = mixed_from(stripes_[i], slots, alignment);
            }
        }
        return run;
    }
    Run take_at_home(unsigned slots, unsigned alignment, SlotKind kind, unsigned home) {
        return take_from(stripes_[home], slots, alignment, kind);
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

    std::size_t dirty_bytes(unsigned stripe) const { return stripes_[stripe].dirty_bytes(); }
    std::size_t dirty_bytes() const { return bytes(SlotKind::free_dirty); }
    std::size_t clean_bytes() const { return bytes(SlotKind::free_clean); }
    std::size_t refused_bytes() const {
        std::size_t all = 0;
        for (unsigned i = 0; i < count(); ++i) {
            all += stripes_[i].refused_bytes();
        }
        return all;
    }
    void forget_refused() {
        for (PurgingRuns &stripe : stripes_) {
            stripe.forget_refused();
        }
    }

    /// Gives back dirty memory until at most `keep` bytes are left. Returns the bytes given back.
    std::size_t purge(std::size_t keep) {
        std::size_t bytes = 0;
        for (unsigned i = 0; i < count(); ++i) {
            std::size_t others = 0;
            for (unsigned other = 0; other < count(); ++other) {
                others += other != i ? stripes_[other].dirty_bytes() : 0;
            }
            sync::Guard hold(stripes_[i].lock());
            bytes += stripes_[i].purge_locked(keep > others ? keep - others : 0);
        }
        return bytes;
    }

    /// One tick of the purge clock: gives back the memory that was free during the whole last period, except for `keep`
    /// bytes.
    void purge_idle(std::size_t keep) {
        for (unsigned i = 0; i < count(); ++i) {
            sync::Guard hold(stripes_[i].lock());
            keep -= stripes_[i].purge_idle_locked(keep);
        }
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
        any([&](PurgingRuns &stripe) {
            const sync::Glance hold(stripe.lock());
            stripe.statistics_locked(out);
            return false;
        });
    }

    void repair_after_fork() {
        for (PurgingRuns &stripe : stripes_) {
            stripe.repair_after_fork();
        }
    }

private:
    static Run take_from(PurgingRuns &stripe, unsigned slots, unsigned alignment, SlotKind kind) {
        if (stripe.bytes(kind) < slots * slot_size) {
            return {};
        }
        sync::Guard hold(stripe.lock());
        return stripe.runs().take(slots, alignment, kind);
    }

    static Run mixed_from(PurgingRuns &stripe, unsigned slots, unsigned alignment) {
        if (stripe.dirty_bytes() < slots * slot_size / 2) {
            return {};
        }
        sync::Guard hold(stripe.lock());
        return stripe.runs().take_mixed(slots, alignment);
    }

    template <class Has>
    bool any(Has has) {
        return std::any_of(stripes_, stripes_ + count(), has);
    }
    CAIRN_INLINE std::size_t bytes(SlotKind kind) const {
        std::size_t all = 0;
        for (unsigned i = 0; i < count(); ++i) {
            all += stripes_[i].bytes(kind);
        }
        return all;
    }

    PurgingRuns stripes_[most];
    std::atomic<unsigned> count_{1}; ///< relaxed: a stripe beyond an old count has no free runs yet
};

} // namespace cairn
