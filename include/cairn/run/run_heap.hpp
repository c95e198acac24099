// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, between the rest of the allocator and the operating system.
//
// Adds:    allocation and release of runs, growing or shortening a run in place.
// Needs:   HugeGrowth for fresh runs; its RunStripes for free runs.
// Keeps:   every slot is in a run that is in use or free.
// Threads: any; a stripe's lock, and one more where memory grows, held for some tens of instructions, never while the
//          kernel purges.
// Errors:  nullptr when there is no free run that fits and the operating system refuses.
// Cost:    a lock and a bitmap search; a system call for new address space, an eighth of the mapped memory at a time.
// Source:  LKmalloc, section 6, G (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/huge_growth.hpp>

namespace cairn {

class RunHeap : public HugeGrowth {
public:
    static constexpr unsigned longest_run = end_of_slots - metadata_slots;

    /// The home stripe of a thread, by the number of its heap, which is 1 or more; 0 for a thread without a heap.
    static constexpr unsigned home_of(unsigned heap) { return heap == 0 ? 0 : (heap - 1) % RunStripes::most; }

    /// A dirty free run of any stripe, the home stripe's before others'; none if none fits.
    Run allocate_used(unsigned slots, unsigned alignment, unsigned home) {
        return stripes_.take(slots, alignment, SlotKind::free_dirty, home);
    }

    /// A run of `slots` <= longest_run at a multiple of `alignment` slots. Dirty runs of all stripes come before fresh
    /// ones, the home stripe before other stripes. The run of a large block may be mixed, at least half of it dirty.
    Run allocate(unsigned slots, unsigned alignment = 1, Touched touched = Touched::now, unsigned home = 0) {
        Run run = allocate_used(slots, alignment, home);
        if (run.first == nullptr && touched == Touched::now && slots > 1) {
            run = stripes_.take_mixed(slots, alignment, home);
        }
        if (run.first == nullptr) {
            run = take_unused(slots, alignment, touched, home);
        }
        if (run.first == nullptr) {
            // Dirty and clean neighbours do not coalesce: once purged, they do.
            stripes_.purge(0);
            run = take_any(slots, alignment, touched);
        }
        bool others = true;
        for (int i = 0; run.first == nullptr && others && i < platform::longest_wait; ++i) {
            others = stripes_.wait_for_others(i); // false: the other threads have put their runs back
            run = take_any(slots, alignment, touched);
        }
        if (run.grown) {
            pay(touched == Touched::now ? PurgingRuns::beside_blocks : PurgingRuns::beside_superblocks);
        }
        return run;
    }

    /// Whether a dirty free run fits. A hint: other threads allocate runs too.
    bool has_dirty(unsigned slots, unsigned alignment) { return stripes_.has_dirty(slots, alignment); }

    /// Frees a run. `clean`: it reads as zero. `untouched`: the bytes of it for which touch() was not called.
    void release(OwnerLine *first, bool clean = false, std::size_t untouched = 0) {
        if (untouched == 0) {
            return put(first, clean);
        }
        sync::Guard hold(lock_);
        line_.drop_untouched(untouched);
        put(first, clean);
    }

    /// Lengthens a run in use to `slots` in place. False, and nothing has changed, if there is no room behind it.
    bool extend(OwnerLine *first, unsigned slots, SlotKind kind) {
        SlotKind was = extend_into_free(first, slots, kind);
        if (was == SlotKind::unmapped && grow_behind(first, slots - first->slots)) {
            was = extend_into_free(first, slots, kind);
        }
        if (was == SlotKind::free_clean) {
            pay(PurgingRuns::beside_blocks);
        }
        return was != SlotKind::unmapped;
    }

    void shorten(OwnerLine *first, unsigned slots) {
        PurgingRuns &stripe = stripes_.of(first);
        sync::Guard hold(stripe.lock());
        stripe.runs().shorten(first, slots);
    }

    /// Purges free memory except for `keep` bytes, and lowers the water line to the present value. Where address space
    /// is limited, free address space goes back too, for mappings of the program. Returns the bytes purged.
    std::size_t purge(std::size_t keep) {
        const std::size_t bytes = stripes_.purge(keep);
        fall();
        cut_where_limited();
        return bytes;
    }
    /// A tick of the purge clock: purges memory that was free since the last tick, except for `keep` bytes, and lowers
    /// the water line to the maximum since then. Where address space is limited, free address space goes back too.
    void purge_idle(std::size_t keep) {
        stripes_.purge_idle(keep);
        tick();
        cut_where_limited();
    }

    /// Memory that the kernel has refused to take is purged again at the next purge.
    void forget_refused() { stripes_.forget_refused(); }

    /// Out of memory: where address space is limited, all free address space goes back. Returns whether the caller
    /// should try again; true also when another thread gave memory back. Without a limit nothing is given back: the
    /// kernel refused for another reason, and might refuse to map the addresses again.
    bool give_up() {
        if (!AddressSpace::is_limited()) {
            return false;
        }
        stripes_.purge(0);
        for (int i = 0; i < platform::longest_wait && stripes_.wait_for_others(i); ++i) {
        }
        cut_ends();
        return true;
    }

    /// In the child of a fork of a process with several threads: another thread of the parent may have been changing
    /// the lists, so they are rebuilt from the slot kinds. The caller then calls untouch() for all superblocks. `huge`:
    /// bytes of mappings that are not segments.
    void repair_after_fork(std::size_t huge = 0) {
        reset_after_fork();
        segments_.repair_after_fork();
        space_.recount(segments_.bytes() + segments_.overhead() + huge);
        for_each_segment(
            [this](Segment &segment) { stripes_.of(segment.owner_lines).runs().find_in(segment); });
    }

private:
    SlotKind extend_into_free(OwnerLine *first, unsigned slots, SlotKind kind) {
        PurgingRuns &stripe = stripes_.of(first);
        sync::Guard hold(stripe.lock());
        return stripe.runs().extend(first, slots, kind);
    }

    /// Grows the segment so that `slots` clean slots follow the run. Another thread may take them first.
    bool grow_behind(OwnerLine *first, unsigned slots) {
        sync::Guard hold(lock_);
        PurgingRuns &stripe = stripes_.of(first);
        sync::Guard hold_stripe(stripe.lock());
        Segment &segment = *Segment::of(first);
        const unsigned clean = segment.clean_end();
        if (segment.slot_of(first) + first->slots + clean != segment.mapped_slots) {
            return false;
        }
        OwnerLine *const more = slots > clean ? segments_.lengthen(space_, segment, slots - clean) : nullptr;
        if (more != nullptr) {
            stripe.runs().put(more, true);
        }
        return more != nullptr;
    }

    void cut_where_limited() {
        if (AddressSpace::is_limited()) {
            cut_ends();
            sync::Guard hold(lock_);
            segments_.for_each([this](Segment &segment) { segments_.try_again(segment); });
        }
    }

    /// Unmaps the clean free runs at the ends of segments.
    void cut_ends() {
        sync::Guard hold(lock_);
        segments_.for_each([this](Segment &segment) {
            PurgingRuns &stripe = stripes_.of(segment.owner_lines);
            sync::Guard hold_stripe(stripe.lock());
            const unsigned slots = stripe.runs().take_clean_end(segment);
            if (segments_.cut(space_, segment, slots) == 0 && slots != 0) {
                stripe.runs().put(&segment.owner_lines[segment.mapped_slots - slots], true);
            }
        });
    }

    void put(OwnerLine *first, bool clean) {
        PurgingRuns &stripe = stripes_.of(first);
        sync::Guard hold(stripe.lock());
        stripe.runs().put(first, clean);
    }
};

} // namespace cairn
