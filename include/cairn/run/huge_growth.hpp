// SPDX-License-Identifier: MIT
//
// Huge growth: in a process with much memory, fresh runs are backed by huge pages, one at a time.
//
// Adds:    2 MiB of fresh memory become a resident free run by one page fault.
// Needs:   RunGrowth; HugeSteps, which decides whether and when.
// Keeps:   such a run counts as free memory beside superblocks, so the limit on that memory holds. After a step its
//          range has the advice of the rest of the segment again: the kernel joins them to one mapping.
// Threads: any; the lock of RunGrowth, not held while the kernel clears the page.
// Cost:    that of HugeSteps, for 32 superblocks.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/run/huge_steps.hpp>
#include <cairn/run/run_growth.hpp>

#include <algorithm>

namespace cairn {

class HugeGrowth : public RunGrowth {
protected:
    /// A fresh run, as RunGrowth::take_unused(); it may be the start of a range that was just backed by a huge page,
    /// and then counts as resident.
    Run take_unused(unsigned slots, unsigned alignment, Touched touched, unsigned home) {
        const bool may = space_.wants_huge_steps() && std::max(slots, alignment) <= HugeSteps::longest_run;
        OwnerLine *const range = may ? begin_step(slots, touched, home) : nullptr;
        return CAIRN_UNLIKELY(range != nullptr) ? step(range, slots, touched)
                                                : RunGrowth::take_unused(slots, alignment, touched, home);
    }

    void reset_after_fork() {
        RunGrowth::reset_after_fork();
        steps_.forget();
    }

    /// Backs the range with a huge page, keeps `slots` of it and frees the rest, which is dirty if that succeeded and
    /// clean otherwise. A range where it failed is not tried again, because the kernel has made a page table for it.
    Run step(OwnerLine *range, unsigned slots, Touched touched) {
        const bool trial = steps_.is_trial();
        HugeSteps::Got got =
            trial ? HugeSteps::Got::nothing : HugeSteps::fault(reinterpret_cast<void *>(memory_of(range)));
        // Where the system gives huge pages at any first touch, a slow one is no reason to wait.
        if (got == HugeSteps::Got::slowly && space_.is_unasked()) {
            got = HugeSteps::Got::soon;
        }
        const bool clean = got == HugeSteps::Got::nothing;
        {
            sync::Guard hold(lock_);
            PurgingRuns &stripe = stripes_.of(range);
            sync::Guard hold_stripe(stripe.lock());
            stripe.is_back_locked();
            stripe.runs().shorten(range, slots, clean);
            trial ? steps_.tries(range, line_.total()) : steps_.end(got, line_.total());
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
    OwnerLine *begin_step(unsigned slots, Touched requested, unsigned home) {
        constexpr unsigned range = HugeSteps::slots;
        sync::Guard hold(lock_);
        const std::size_t touched = touched_locked();
        if (!steps_.begin(slots, {touched, dirty_bytes(), line_.untouched(), line_.total()})) {
            return nullptr;
        }
        if (requested == Touched::now) {
            steps_.note_large();
        }
        if (OwnerLine *const trial = steps_.take_trial(); trial != nullptr && is_sparse(trial)) {
            steps_.end_sparse(line_.total());
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
        stripe.leaves_locked();
        return run;
    }

    HugeSteps steps_;

private:
    static constexpr RunsKept kept_ = PurgingRuns::beside_superblocks;
    static_assert(HugeSteps::fraction >= kept_.fraction);
    static constexpr std::size_t unused_ = 8; ///< "little": up to an eighth of the resident memory

    /// Whether more than a quarter of the large blocks in a range is not resident.
    static bool is_sparse(OwnerLine *range) {
        std::size_t used = 0, there = 0;
        const Segment &segment = *Segment::of(range);
        for (unsigned slot = segment.slot_of(range), end = slot + HugeSteps::slots; slot < end; ++slot) {
            if (const SlotKind kind = segment.kind(slot);
                kind == SlotKind::large || kind == SlotKind::large_tail) {
                used += slot_size;
                there += platform::vm::resident_bytes(
                    reinterpret_cast<const void *>(segment.address_of_slot(slot)), slot_size);
            }
        }
        return used - there > used / 4;
    }
};

} // namespace cairn
