// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, the border between the allocator and the operating system.
//
// Adds:    taking and giving back runs, growing or shortening one in place.
// Needs:   HugeGrowth for what nothing has used yet, and its RunStripes for what is free.
// Keeps:   every slot is in a run that is in use, or free.
// Threads: any; a stripe's lock, and one more where memory grows, held for some tens of instructions, never while the
//          kernel purges.
// Errors:  nullptr when neither the free runs nor the operating system can serve.
// Cost:    a lock and a bitmap search; a system call for new address space, an eighth of what there is at a time (window_parts).
// Source:  LKmalloc, section 6, G (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/huge_growth.hpp>

namespace cairn {

class RunHeap : public HugeGrowth {
public:
    static constexpr unsigned longest_run = end_of_slots - metadata_slots;

    /// The home stripe of a thread, by its heap's number: 1 and more, 0 for none.
    static constexpr unsigned home_of(unsigned who) { return who == 0 ? 0 : (who - 1) % RunStripes::most; }

    /// A run of `slots` <= longest_run that starts at a multiple of `alignment` slots. Memory that was used before comes first,
    /// wherever it is; of what fits, that of the home stripe. A long block may be of both, half of it used at least.
    Run allocate(unsigned slots, unsigned alignment = 1, Touched touched = Touched::now, unsigned home = 0) {
        Run run = stripes_.take(slots, alignment, SlotKind::free_dirty, home);
        if (run.first == nullptr && touched == Touched::now && slots > 1) {
            run = stripes_.take_mixed(slots, alignment, home);
        }
        if (run.first == nullptr) {
            run = take_unused(slots, alignment, touched, home);
        }
        if (run.first == nullptr) {
            // Dirty and clean neighbours do not coalesce: as clean ones they do.
            stripes_.purge(0);
            run = take_any(slots, alignment, touched);
        }
        bool others = true;
        for (int i = 0; run.first == nullptr && others && i < platform::longest_wait; ++i) {
            others = stripes_.wait_for_others(i); // none: those that there were have come back
            run = take_any(slots, alignment, touched);
        }
        if (run.grown) {
            pay(touched == Touched::now ? PurgingRuns::beside_blocks : PurgingRuns::beside_superblocks);
        }
        return run;
    }

    /// Whether the next such run is one that was used before. A hint: other threads take runs too.
    bool has_dirty(unsigned slots, unsigned alignment) { return stripes_.has_dirty(slots, alignment); }

    /// Takes back a run. `clean`: the caller knows that it reads as zero. `untouched`: what touch() was not told of.
    void release(OwnerLine *first, bool clean = false, std::size_t untouched = 0) {
        if (untouched == 0) {
            return put(first, clean);
        }
        sync::Guard hold(lock_);
        line_.drop_untouched(untouched);
        put(first, clean);
    }

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

    /// Gives memory back, and forgets what memory there was before. Where address space is limited some of that goes back too, for
    /// what the program maps by itself.
    std::size_t purge(std::size_t keep) {
        const std::size_t bytes = stripes_.purge(keep);
        fall();
        cut_where_limited();
        return bytes;
    }
    /// A tick of the purge clock: the same, of what lay unused since the last one, and what memory there was before that.
    void purge_idle(std::size_t keep) {
        stripes_.purge_idle(keep);
        tick();
        cut_where_limited();
    }

    /// The kernel is asked anew for what it would not take.
    void forget_refused() { stripes_.forget_refused(); }

    /// Out of memory: where that is for a limit on address space, all that lies free there goes back. Whether there is a point
    /// in trying again, be it that another thread has done it meanwhile. Not where the kernel refuses for another reason: it
    /// might not let us have it again.
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

    /// In the child of a fork of a threaded process: the lists may have been in the middle of a change in a
    /// thread that is not here. What the slots say is the truth; the lists are made anew from it. untouch() is to be told again.
    /// `huge`: so many bytes are mapped besides.
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

    /// So many clean slots behind a run, where its segment can grow there. Another thread may take them.
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

    /// The free and clean ends of segments are unmapped.
    void cut_ends() {
        sync::Guard hold(lock_);
        segments_.for_each([this](Segment &segment) {
            PurgingRuns &stripe = stripes_.of(segment.owner_lines);
            sync::Guard hold_stripe(stripe.lock());
            const unsigned slots = stripe.runs().take_clean_end(segment);
            if (segments_.cut(space_, segment, slots) == 0 && slots != 0) {
                stripe.runs().put(&segment.owner_lines[segment.mapped_slots - slots], true);
            }
            forget_asked_locked(segment);
        });
    }

    void put(OwnerLine *first, bool clean) {
        PurgingRuns &stripe = stripes_.of(first);
        sync::Guard hold(stripe.lock());
        stripe.runs().put(first, clean);
    }
};

} // namespace cairn
