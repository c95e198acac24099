// SPDX-License-Identifier: MIT
//
// Huge growth: in a process with much memory, fresh runs are backed by huge pages, one at a time.
//
// Adds:    2 MiB of fresh memory become a resident free run by one page fault.
// Needs:   RunGrowth; HugeSteps, which decides whether and when.
// Keeps:   such a run counts as free memory beside superblocks, so the limit on that memory holds. The number of
//          mappings of the process stays bounded: the kernel splits a mapping where the advice on huge pages changes,
//          and the advice cannot be undone, so each row of adjacent ranges with the advice is a mapping of its own.
// Threads: any; the lock of RunGrowth, not held while the kernel clears the page.
// Cost:    that of HugeSteps, for 32 superblocks.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/run/huge_steps.hpp>
#include <cairn/run/run_growth.hpp>

#include <algorithm>
#include <bit>

namespace cairn {

class HugeGrowth : public RunGrowth {
protected:
    /// A fresh run, as RunGrowth::take_unused(); it may be the start of a range that was just backed by a huge page,
    /// and then counts as resident.
    Run take_unused(unsigned slots, unsigned alignment, Touched touched, unsigned home) {
        const bool may = space_.wants_huge_steps() && std::max(slots, alignment) <= HugeSteps::longest_run;
        OwnerLine *const range = may ? begin_step(slots, home) : nullptr;
        return CAIRN_UNLIKELY(range != nullptr) ? step(range, slots, touched)
                                                : RunGrowth::take_unused(slots, alignment, touched, home);
    }

    void reset_after_fork() {
        RunGrowth::reset_after_fork();
        steps_.forget();
    }

    /// The end of a segment was unmapped: mapped again it is without the advice on huge pages.
    void forget_asked_locked(Segment &segment) {
        set_asked_locked(segment, segment.asked & ((1u << segment.mapped_slots / HugeSteps::slots) - 1));
    }

    /// Backs the range with a huge page, keeps `slots` of it and frees the rest, which is dirty if that succeeded and
    /// clean otherwise. A range where it failed is not tried again, because the kernel has made a page table for it.
    Run step(OwnerLine *range, unsigned slots, Touched touched) {
        const HugeSteps::Got got =
            HugeSteps::fault(reinterpret_cast<void *>(memory_of(range)), steps_.asks());
        const bool clean = got == HugeSteps::Got::nothing;
        {
            sync::Guard hold(lock_);
            PurgingRuns &stripe = stripes_.of(range);
            sync::Guard hold_stripe(stripe.lock());
            stripe.is_back_locked();
            stripe.runs().shorten(range, slots, clean);
            steps_.end(got, line_.total());
            if (clean) {
                noted_locked({range, true, true}, touched);
            }
        }
        if (!clean) {
            pay(kept_);
        }
        return {range, clean, clean};
    }

    /// Takes a clean range for a step, or nullptr if none is due. New address space is taken for it only where address
    /// space is not limited, and where little clean memory lies in shorter runs, which would otherwise stay unused.
    OwnerLine *begin_step(unsigned slots, unsigned home) {
        constexpr unsigned range = HugeSteps::slots;
        sync::Guard hold(lock_);
        const std::size_t touched = touched_locked();
        if (!steps_.begin(slots, {touched, dirty_bytes(), line_.untouched(), line_.total()})) {
            return nullptr;
        }
        OwnerLine *run = stripes_.take_at_home(range, range, SlotKind::free_clean, home).first;
        if (run == nullptr && stripes_.clean_bytes() <= touched / unused_ && !AddressSpace::is_limited()) {
            run = grow_locked(range, range, home, Segments::From::both, Touched::later, window_size).first;
        }
        if (run == nullptr) {
            steps_.leave_out();
            return nullptr;
        }
        PurgingRuns &stripe = stripes_.of(run);
        sync::Guard hold_stripe(stripe.lock());
        if (steps_.asks() && !may_ask_locked(run)) {
            stripe.runs().put(run, true);
            steps_.end(HugeSteps::Got::nothing, line_.total());
            return nullptr;
        }
        stripe.leaves_locked();
        return run;
    }

    HugeSteps steps_;

private:
    static constexpr RunsKept kept_ = PurgingRuns::beside_superblocks;
    static_assert(HugeSteps::fraction >= kept_.fraction);
    static constexpr std::size_t unused_ = 8; ///< "little": up to an eighth of the resident memory

    /// Whether the range may get the advice: it extends a row, or one more row is allowed. A row costs two mappings.
    /// Rows end at window boundaries, so one row for each window is allowed, 256 at least, and 8192 at most: a quarter
    /// of the mappings that a process may have.
    bool may_ask_locked(const OwnerLine *range) {
        const std::size_t most_rows = std::clamp<std::size_t>(segments_.bytes() / window_size, 256, 8192);
        Segment &segment = *Segment::of(range);
        const unsigned asked = segment.asked | 1u << segment.slot_of(range) / HugeSteps::slots;
        const bool may = rows_of(asked) <= rows_of(segment.asked) || rows_ < most_rows;
        set_asked_locked(segment, may ? asked : segment.asked);
        return may;
    }
    void set_asked_locked(Segment &segment, unsigned asked) {
        rows_ += rows_of(asked) - rows_of(segment.asked);
        segment.asked = asked;
    }
    static unsigned rows_of(unsigned asked) {
        return static_cast<unsigned>(std::popcount(asked & ~(asked << 1)));
    }

    unsigned rows_ = 0; ///< in all segments; in the child of a fork perhaps one more or less
};

} // namespace cairn
