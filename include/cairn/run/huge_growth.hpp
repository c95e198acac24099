// SPDX-License-Identifier: MIT
//
// Huge growth: run growth by huge pages, where they are wanted and there is much already.
//
// Adds:    2 MiB that nothing has used yet become a free run that is resident.
// Needs:   RunGrowth; HugeSteps for whether and when.
// Keeps:   the run lies free within what may lie free beside superblocks, so the invariant of that border holds as it did; the mappings
//          of the process stay few: there is no way back to one that was asked nothing, so each row of such ranges is one of its own.
// Threads: any; the lock of growth, not held while the kernel clears the page.
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
    /// As RunGrowth's, but the run may be of memory that is resident already.
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

    /// The end of a segment was unmapped, and is a new mapping when it comes back.
    void forget_asked_locked(Segment &segment) {
        set_asked_locked(segment, segment.asked & ((1u << segment.mapped_slots / HugeSteps::slots) - 1));
    }

    /// So many slots of the range; the others become free, with memory or without. Where a huge page was not to be had it is not tried
    /// there again: the kernel has made a page table.
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
            clean ? void(noted_locked({range, true, true}, touched)) : void();
        }
        clean ? void() : void(pay(kept_));
        return {range, clean, clean};
    }

    /// The range, if one is due. New address space is taken for it where that is not short, and little lies about unused in pieces that
    /// are too short: those would never be used.
    OwnerLine *begin_step(unsigned slots, unsigned home) {
        constexpr unsigned range = HugeSteps::slots;
        sync::Guard hold(lock_);
        const std::size_t touched = touched_locked();
        if (!steps_.begin(slots, {touched, dirty_bytes(), line_.untouched(), line_.total()})) {
            return nullptr;
        }
        OwnerLine *run = stripes_.take_at_home(range, range, SlotKind::free_clean, home).first;
        if (run == nullptr && stripes_.clean_bytes() <= touched / unused_ && !AddressSpace::is_limited()) {
            run = grow_locked(range, range, home, Segments::From::both, Touched::later).first;
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
    static constexpr std::size_t unused_ = 8; ///< an eighth of what is resident

    /// Whether it adds to a row, or there may be one more: two mappings each. Rows end where windows do, so of what is dense there may be
    /// one for each, up to a quarter of the mappings that a process may have.
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

    unsigned rows_ = 0; ///< in all segments; a fork's child may be one off
};

} // namespace cairn
