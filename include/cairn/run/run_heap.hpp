// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, the border between the allocator and the operating system.
//
// Adds:    taking and giving back runs, growing or shortening one in place; paying for growth with what lies free.
// Needs:   Segments for new address space; PurgingRuns for what is free.
// Keeps:   every slot is in a run that is in use, or free.
// Threads: any; one lock, held for some tens of instructions, never while the kernel purges.
// Errors:  nullptr when neither the free runs nor the operating system can serve.
// Cost:    a lock and a bitmap search; a system call for 32 MiB of new address space at a time.
// Source:  LKmalloc, section 3.4 (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/purging_runs.hpp>
#include <cairn/run/segments.hpp>
#include <cairn/run/water_line.hpp>

namespace cairn {

class RunHeap {
public:
    explicit constexpr RunHeap(void *allocator) : segments_(allocator) {}
    RunHeap(const RunHeap &) = delete;
    RunHeap &operator=(const RunHeap &) = delete;

    static constexpr unsigned longest_run = end_of_slots - metadata_slots;

    enum class Touched : bool { later, now }; ///< later: bit by bit, see touch()

    /// A run of `slots` <= longest_run that starts at a multiple of `alignment` slots.
    Run allocate(unsigned slots, unsigned alignment = 1, Touched touched = Touched::now) {
        sync::Guard hold(lock());
        Run run = free().take(slots, alignment);
        if (run.first == nullptr) {
            if (OwnerLine *const more = segments_.grow(space_, slots, alignment)) {
                free().put(more, true);
                run = free().take(slots, alignment);
            }
        }
        if (run.first == nullptr) {
            // Dirty and clean neighbours do not coalesce: as clean ones they do.
            purging_.purge_locked(0);
            run = free().take(slots, alignment);
        }
        for (int i = 0;
             run.first == nullptr && i < platform::longest_wait && purging_.wait_for_others_locked(i); ++i) {
            run = free().take(slots, alignment);
        }
        if (run.clean && touched == Touched::later) {
            line_.add_untouched(slots * slot_size);
        }
        if (run.clean) {
            pay_locked(touched == Touched::now ? PurgingRuns::beside_blocks
                                               : PurgingRuns::beside_superblocks);
        }
        return run;
    }

    /// Whether the next such run is one that was used before. A hint: other threads take runs too.
    bool has_dirty(unsigned slots, unsigned alignment) {
        sync::Guard hold(lock());
        return free().has_dirty(slots, alignment);
    }

    /// Takes back a run. `clean`: the caller knows that it reads as zero. `untouched`: what touch() was not told of.
    void release(OwnerLine *first, bool clean = false, std::size_t untouched = 0) {
        sync::Guard hold(lock());
        line_.drop_untouched(untouched);
        free().put(first, clean);
    }

    /// So many bytes of such a run were touched for the first time: what is now to be paid for. untouch: they went back.
    std::size_t touch(std::size_t bytes) {
        sync::Guard hold(lock());
        line_.drop_untouched(bytes);
        return line_.touched_above(taken_locked());
    }

    void untouch(std::size_t bytes) {
        sync::Guard hold(lock());
        line_.add_untouched(bytes);
    }

    bool extend(OwnerLine *first, unsigned slots, SlotKind kind) {
        sync::Guard hold(lock());
        const SlotKind was = free().extend(first, slots, kind);
        if (was == SlotKind::free_clean) {
            pay_locked(PurgingRuns::beside_blocks);
        }
        return was != SlotKind::unmapped;
    }

    void shorten(OwnerLine *first, unsigned slots) {
        sync::Guard hold(lock());
        free().shorten(first, slots);
    }

    /// Both forget what memory there was before.
    std::size_t purge(std::size_t keep) {
        sync::Guard hold(lock());
        const std::size_t bytes = purging_.purge_locked(keep);
        line_.fall(taken_locked());
        return bytes;
    }
    void purge_idle(std::size_t keep) {
        sync::Guard hold(lock());
        purging_.purge_idle_locked(keep);
        line_.fall(taken_locked());
    }
    std::size_t dirty_bytes() const { return purging_.dirty_bytes(); }

    /// Memory was touched, or taken for a huge block: of what lies free beyond the invariant, as much goes back as it grew.
    void pay(RunsKept kept) {
        sync::Guard hold(lock());
        pay_locked(kept);
    }

    /// Whether so much more would be more than ever was.
    bool would_grow(std::size_t bytes) {
        sync::Guard hold(lock());
        return line_.taken_above(taken_locked() + bytes) != 0;
    }

    void unmapped_locked(std::size_t bytes) { line_.lower(bytes); }
    const WaterLine &line() const { return line_; } ///< total() and is_small() need no lock

    /// With less than so many bytes touched, memory has no price.
    void set_floor(std::size_t bytes) { line_.set_floor(bytes); }

    /// Bytes of runs that may have memory behind them: in use or dirty.
    std::size_t resident_bytes() {
        sync::Guard hold(lock());
        return resident_locked();
    }

    /// Calls f(segment) for every segment; without the lock.
    template <class F>
    void for_each_segment(F &&f) const {
        segments_.for_each(f);
    }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock());
        purging_.statistics_locked(out);
        out.mapped += space_.mapped();
        out.mapped_peak += space_.mapped_peak();
    }

    /// The lock and the source of addresses, shared with the heap of huge blocks.
    sync::Lock &lock() { return purging_.lock(); }
    AddressSpace &space() { return space_; }

    /// In the child of a fork of a threaded process: the lists may have been in the middle of a change in a
    /// thread that is not here. What the slots say is the truth; the lists are made anew from it. untouch() is to be told again.
    void repair_after_fork() {
        purging_.repair_after_fork();
        line_.forget_untouched();
        free().clear();
        for_each_segment([this](Segment &segment) { free().find_in(segment); });
    }

private:
    FreeRuns &free() { return purging_.runs(); }
    std::size_t resident_locked() { return segments_.bytes() - free().clean_bytes(); }
    std::size_t taken_locked() { return space_.mapped() - segments_.overhead() - free().clean_bytes(); }

    void pay_locked(RunsKept kept) {
        purging_.keep_invariant_locked(line_.touched_above(taken_locked()), resident_locked(), kept);
        line_.raise(taken_locked());
    }

    AddressSpace space_;
    Segments segments_;
    PurgingRuns purging_;
    WaterLine line_;
};

} // namespace cairn
