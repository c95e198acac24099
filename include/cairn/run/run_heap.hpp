// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, the border between the allocator and the operating system.
//
// Adds:    taking and giving back runs, and growing or shortening one in place.
// Needs:   Segments for new address space; PurgingRuns for what is free.
// Keeps:   every slot is in a run that is in use, or free.
// Threads: any; one lock, held for some tens of instructions, never while the kernel purges.
// Errors:  nullptr when neither the free runs nor the operating system can serve.
// Cost:    a lock and a bitmap search; a system call for 32 MiB of new address space at a time.
// Source:  LKmalloc, section 3.4 (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/purging_runs.hpp>
#include <cairn/run/segments.hpp>

namespace cairn {

class RunHeap {
public:
    explicit constexpr RunHeap(void *allocator) : segments_(allocator) {}
    RunHeap(const RunHeap &) = delete;
    RunHeap &operator=(const RunHeap &) = delete;

    static constexpr unsigned longest_run = end_of_slots - metadata_slots;

    /// A run of `slots` <= longest_run that starts at a multiple of `alignment` slots.
    Run allocate(unsigned slots, unsigned alignment = 1, RunsKept kept = PurgingRuns::beside_blocks) {
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
        if (run.clean) {
            grew_locked(slots * slot_size, kept);
        }
        return run;
    }

    /// Whether the next such run is one that was used before. A hint: other threads take runs too.
    bool has_dirty(unsigned slots, unsigned alignment) {
        sync::Guard hold(lock());
        return free().has_dirty(slots, alignment);
    }

    /// Takes back a run. `clean`: the caller knows that it reads as zero.
    void release(OwnerLine *first, bool clean = false) {
        sync::Guard hold(lock());
        free().put(first, clean);
    }

    bool extend(OwnerLine *first, unsigned slots, SlotKind kind) {
        sync::Guard hold(lock());
        const unsigned before = first->slots;
        const SlotKind was = free().extend(first, slots, kind);
        if (was == SlotKind::free_clean) {
            grew_locked((slots - before) * slot_size);
        }
        return was != SlotKind::unmapped;
    }

    void shorten(OwnerLine *first, unsigned slots) {
        sync::Guard hold(lock());
        free().shorten(first, slots);
    }

    std::size_t purge(std::size_t keep) { return purging_.purge(keep); }
    void purge_idle(std::size_t keep) { purging_.purge_idle(keep); }
    std::size_t dirty_bytes() const { return purging_.dirty_bytes(); }

    /// So many bytes that were not resident are now: gives back as much of what lies free beyond the invariant.
    void pay(std::size_t bytes, RunsKept kept) {
        sync::Guard hold(lock());
        purging_.keep_invariant_locked(bytes, resident_locked(), kept);
    }

    /// Memory was taken from the operating system elsewhere, for a huge block.
    void grew(std::size_t bytes) {
        sync::Guard hold(lock());
        grew_locked(bytes);
    }

    /// Memory that is never given back, for metadata where the kernel has none; nullptr if there is none here
    /// either. Zeroed.
    void *take_for_metadata(std::size_t bytes) {
        const Run run = allocate(static_cast<unsigned>(ceil_div(bytes, slot_size)));
        if (run.first == nullptr) {
            return nullptr;
        }
        Segment *const segment = Segment::of(run.first);
        segment->set_kinds(segment->slot_of(run.first), run.first->slots, SlotKind::metadata);
        void *const memory = reinterpret_cast<void *>(memory_of(run.first));
        if (!run.clean) {
            platform::vm::purge(memory, bytes);
        }
        return memory;
    }

    /// How much was ever taken that had no memory behind it. Only grows.
    std::size_t growth() const { return growth_.load(std::memory_order_relaxed); }

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
    /// thread that is not here. What the slots say is the truth; the lists are made anew from it.
    void repair_after_fork() {
        purging_.repair_after_fork();
        free().clear();
        for_each_segment([this](Segment &segment) { free().find_in(segment); });
    }

private:
    FreeRuns &free() { return purging_.runs(); }
    std::size_t resident_locked() { return segments_.bytes() - free().clean_bytes(); }

    void grew_locked(std::size_t bytes, RunsKept kept = PurgingRuns::beside_blocks) {
        growth_.store(growth() + bytes, std::memory_order_relaxed);
        purging_.keep_invariant_locked(bytes, resident_locked(), kept);
    }

    AddressSpace space_;
    Segments segments_;
    PurgingRuns purging_;
    std::atomic<std::size_t> growth_{0}; ///< relaxed: a counter, written under the lock
};

} // namespace cairn
