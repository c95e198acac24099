// SPDX-License-Identifier: MIT
//
// Huge growth: run growth by huge pages, where they are wanted and there is much already.
//
// Adds:    2 MiB that nothing has used yet become a free run that is resident.
// Needs:   RunGrowth; HugeSteps for whether and when.
// Keeps:   the run lies free within what may lie free beside superblocks, so the invariant of that border holds as it did.
// Threads: any; the lock of growth, not held while the kernel clears the page.
// Cost:    that of HugeSteps, for 32 superblocks.
// Source:  docs/decisions/a-large-process-grows-by-huge-pages.md
#pragma once

#include <cairn/run/huge_steps.hpp>
#include <cairn/run/run_growth.hpp>

namespace cairn {

class HugeGrowth : public RunGrowth {
public:
    using RunGrowth::RunGrowth;

protected:
    /// As RunGrowth's, but the run may be of memory that is resident already.
    Run take_unused(unsigned slots, unsigned alignment, Touched touched, unsigned home) {
        const bool some =
            space_.wants_huge_steps() && slots <= HugeSteps::longest_run && take_step(slots, home);
        const Run run = some ? stripes_.take(slots, alignment, SlotKind::free_dirty, home) : Run{};
        return run.first != nullptr ? run : RunGrowth::take_unused(slots, alignment, touched, home);
    }

    void reset_after_fork() {
        RunGrowth::reset_after_fork();
        steps_.forget();
    }

private:
    static constexpr RunsKept kept_ = PurgingRuns::beside_superblocks;
    static_assert(HugeSteps::fraction >= kept_.fraction);
    static constexpr std::size_t unused_ = 8; ///< an eighth of what is resident

    /// Whether there are used runs now, where there was none for somebody who needs so many slots.
    bool take_step(unsigned slots, unsigned home) {
        OwnerLine *const run = begin_step(slots, home);
        if (run == nullptr) {
            return false;
        }
        const HugeSteps::Got got = HugeSteps::fault(reinterpret_cast<void *>(memory_of(run)));
        {
            sync::Guard hold(lock_);
            PurgingRuns &stripe = stripes_.of(run);
            sync::Guard hold_stripe(stripe.lock());
            stripe.runs().put(run, got == HugeSteps::Got::nothing);
            steps_.end(got, line_.total());
        }
        pay(kept_);
        return got != HugeSteps::Got::nothing;
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
        }
        return run;
    }

    HugeSteps steps_;
};

} // namespace cairn
