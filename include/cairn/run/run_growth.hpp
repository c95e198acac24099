// SPDX-License-Identifier: MIT
//
// Run growth: where fresh runs come from, and the purging that offsets growth ("paying").
//
// Adds:    growth by segments; the account of touched memory, and purging of free memory in return for growth.
// Needs:   Segments for new address space; RunStripes for free runs.
// Keeps:   when new memory is taken and free memory exceeds a limit of PurgingRuns, as much of the excess is purged.
// Threads: any; one lock, released while the kernel purges. A stripe's lock may be taken with it held.
// Errors:  no run when the operating system refuses.
// Cost:    a lock; a system call for new address space, an eighth of the mapped memory at a time (window_parts).
// Source:  LKmalloc, section 6, G (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/run_stripes.hpp>
#include <cairn/run/segments.hpp>
#include <cairn/run/water_line.hpp>

namespace cairn {

class RunGrowth {
public:
    constexpr RunGrowth() = default;

    using From = Segments::From;
    enum class Touched : bool { later, now }; ///< when a run is touched; later: in parts, see touch()

    /// `bytes` were touched for the first time. Returns the touched bytes above the water line. untouch(): were purged.
    std::size_t touch(std::size_t bytes) {
        sync::Guard hold(lock_);
        line_.drop_untouched(bytes);
        line_.see(taken_locked());
        return line_.touched_above(taken_locked());
    }

    void untouch(std::size_t bytes) {
        sync::Guard hold(lock_);
        line_.add_untouched(bytes);
    }

    /// After memory was touched, or taken for a huge block: purges as many bytes as the touched memory exceeds the
    /// water line, as far as free memory exceeds `kept`. Returns by how much the water line rose.
    std::size_t pay(RunsKept kept) {
        sync::Guard hold(lock_);
        const std::size_t dirty = dirty_bytes();
        const std::size_t taken = taken_locked();
        const std::size_t price = kept.price(line_.touched_above(taken), dirty, taken);
        if (price != 0) {
            lock_.unlock(); // the calls may take long
            stripes_.purge(dirty - price);
            lock_.lock();
        }
        return line_.raise(taken_locked());
    }

    /// How much would have to be purged for `bytes` more, if `beside` bytes are free that are not in runs.
    std::size_t price(std::size_t bytes, RunsKept kept, std::size_t beside) {
        sync::Guard hold(lock_);
        const std::size_t taken = taken_locked();
        return kept.price(line_.taken_above(taken + bytes), dirty_bytes() + beside, taken);
    }

    /// Whether `bytes` more would exceed the water line.
    bool would_grow(std::size_t bytes) {
        sync::Guard hold(lock_);
        return line_.taken_above(taken_locked() + bytes) != 0;
    }

    void unmapped_locked(std::size_t bytes) { line_.lower(bytes); }
    const WaterLine &line() const { return line_; } ///< total() and is_small() need no lock

    /// While less than `bytes` are touched, growth is not offset by purging.
    void set_floor(std::size_t bytes) { line_.set_floor(bytes); }

    const RunStripes &stripes() const { return stripes_; }
    std::size_t dirty_bytes() const { return stripes_.dirty_bytes(); }

    /// Bytes of runs that may be resident: in use or dirty.
    std::size_t resident_bytes() {
        sync::Guard hold(lock_);
        return segments_.bytes() - stripes_.clean_bytes();
    }

    /// Calls f(segment) for every segment, without the lock.
    template <class F>
    void for_each_segment(F &&f) const {
        segments_.for_each(f);
    }

    template <class S>
    void statistics(S &out) {
        stripes_.statistics(out);
        const sync::Glance hold(lock_);
        out.mapped += space_.mapped();
        out.mapped_peak += space_.mapped_peak();
        out.purged += given_back_.load(std::memory_order_relaxed);
        out.purges += calls_.load(std::memory_order_relaxed);
    }

    /// For the statistics: a call has given back `bytes` that were in no free run. relaxed: counters.
    void gave_back(std::size_t bytes) {
        given_back_.fetch_add(bytes, std::memory_order_relaxed);
        calls_.fetch_add(1, std::memory_order_relaxed);
    }

    /// The lock and the source of addresses, shared with the heap of huge blocks.
    sync::Lock &lock() { return lock_; }
    AddressSpace &space() { return space_; }

protected:
    /// A fresh run. The home stripe grows before the run is taken from another stripe, unless address space is limited:
    /// so threads keep to their stripes.
    Run take_unused(unsigned slots, unsigned alignment, Touched touched, unsigned home) {
        sync::Guard hold(lock_);
        Run run = stripes_.take_at_home(slots, alignment, SlotKind::free_clean, home);
        if (run.first != nullptr) {
            return noted_locked(run, touched);
        }
        const std::size_t most = AddressSpace::step();
        const bool plenty = most == window_size;
        run = plenty ? grow_locked(slots, alignment, home, From::both, touched, most) : Run{};
        if (run.first == nullptr) {
            run = stripes_.take(slots, alignment, SlotKind::free_clean, home);
        }
        for (unsigned i = 0; run.first == nullptr && i < stripes_.count(); ++i) {
            run = grow_locked(slots, alignment, i, From::segments, touched, most);
        }
        const bool last = run.first == nullptr && !plenty;
        return noted_locked(last ? grow_locked(slots, alignment, 0, From::windows, touched, most) : run,
                            touched);
    }

    /// Any free run.
    Run take_any(unsigned slots, unsigned alignment, Touched touched) {
        sync::Guard hold(lock_);
        const Run dirty = stripes_.take(slots, alignment, SlotKind::free_dirty, 0);
        return dirty.first != nullptr
                   ? dirty
                   : noted_locked(stripes_.take(slots, alignment, SlotKind::free_clean, 0), touched);
    }

    /// The water line falls to the present value. tick(): to the maximum since the last tick of the purge clock.
    void fall() {
        sync::Guard hold(lock_);
        line_.fall(taken_locked());
    }
    void tick() {
        sync::Guard hold(lock_);
        line_.tick(taken_locked());
    }

    std::size_t touched_locked() { return line_.touched(taken_locked()); }

    void reset_after_fork() {
        lock_.reset_after_fork();
        line_.forget_untouched();
        stripes_.repair_after_fork();
    }

    /// `most`: AddressSpace::step().
    Run grow_locked(unsigned slots, unsigned alignment, unsigned home, From from, Touched touched,
                    std::size_t most) {
        PurgingRuns &stripe = stripes_.open(home);
        sync::Guard hold(stripe.lock());
        OwnerLine *const more = segments_.grow(space_, slots, alignment, home, from, most);
        if (more == nullptr) {
            return {};
        }
        stripe.runs().put(more, true);
        const Run mixed = touched == Touched::now ? stripe.runs().take_mixed(slots, alignment) : Run{};
        return mixed.first != nullptr ? mixed : stripe.runs().take(slots, alignment, SlotKind::free_clean);
    }

    Run noted_locked(Run run, Touched touched) {
        if (run.clean && touched == Touched::later) {
            line_.add_untouched(span_of(run.first));
        }
        return run;
    }

    std::size_t taken_locked() { return space_.mapped() - segments_.overhead() - stripes_.clean_bytes(); }

    RunStripes stripes_;
    sync::Lock lock_{sync::Rank::runs};
    WaterLine line_;
    AddressSpace space_;
    Segments segments_;
    std::atomic<std::size_t> given_back_{0}, calls_{0}; ///< see gave_back()
};

} // namespace cairn
