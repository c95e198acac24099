// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, the border between the allocator and the operating system.
//
// Adds:    new segments when the free runs do not serve, and the return of free memory (purging).
// Needs:   AddressSpace and FreeRuns.
// Keeps:   maps are never split: memory goes back by madvise. Memory that was needed within the last tick of
//          the purge clock stays (low-water mark).
// Threads: any; one lock, held for some tens of instructions, never while the kernel purges.
// Errors:  nullptr when neither the free runs nor the operating system can serve.
// Cost:    a lock and a bitmap search; a system call for 32 MiB of new address space at a time.
// Source:  LKmalloc, section 3.4 (stripes, whose pages are committed and decommitted).
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/free_runs.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn {

class RunHeap {
public:
    explicit constexpr RunHeap(void *allocator) : allocator_(allocator) {}
    RunHeap(const RunHeap &) = delete;
    RunHeap &operator=(const RunHeap &) = delete;

    static constexpr unsigned longest_run = slots_per_segment - metadata_slots;

    /// A run of `slots` <= longest_run that starts at a multiple of `alignment` slots.
    Run allocate(unsigned slots, unsigned alignment = 1) {
        sync::Guard hold(lock_);
        Run run = free_.take(slots, alignment);
        if (run.first == nullptr && grow(slots, alignment)) {
            run = free_.take(slots, alignment);
        }
        if (run.first == nullptr) {
            // Dirty and clean neighbours do not coalesce: as clean ones they do.
            while (purge_one()) {
            }
            run = free_.take(slots, alignment);
        }
        return run;
    }

    /// Takes back a run. `clean`: the caller knows that it reads as zero.
    void release(OwnerLine *first, bool clean = false) {
        sync::Guard hold(lock_);
        free_.put(first, clean);
    }

    bool extend(OwnerLine *first, unsigned slots, SlotKind kind) {
        sync::Guard hold(lock_);
        return free_.extend(first, slots, kind);
    }

    void shorten(OwnerLine *first, unsigned slots) {
        sync::Guard hold(lock_);
        free_.shorten(first, slots);
    }

    /// Gives back dirty memory, the longest runs first, until at most `keep` bytes are left. Bytes given
    /// back.
    std::size_t purge(std::size_t keep) {
        sync::Guard hold(lock_);
        const std::size_t before = purged_;
        while (free_.dirty_bytes() > keep && purge_one()) {
        }
        return purged_ - before;
    }

    /// One tick of the purge clock: gives back what lay unused through the whole of the last period, but for
    /// `keep` bytes.
    void purge_idle(std::size_t keep) {
        lock_.lock();
        const std::size_t now = free_.dirty_bytes();
        const std::size_t unused = free_.exchange_low_water();
        lock_.unlock();
        if (unused > keep) {
            purge(now - (unused - keep));
        }
    }

    std::size_t dirty_bytes() const { return free_.dirty_bytes(); }

    /// Calls f(segment) for every segment; new ones come in front, none is ever taken away.
    template <class F>
    void for_each_segment(F &&f) const {
        for (Segment *s = segments_.load(std::memory_order_acquire); s != nullptr; s = s->next) {
            f(*s);
        }
    }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock_);
        out.free_dirty += free_.dirty_bytes();
        out.free_clean += free_.clean_bytes();
        out.purged += purged_;
        out.purges += purges_;
        out.mapped += space_.mapped();
        out.mapped_peak += space_.mapped_peak();
    }

    /// The lock and the source of addresses, shared with the heap of huge blocks.
    sync::Lock &lock() { return lock_; }
    AddressSpace &space() { return space_; }

    /// In the child of a fork of a threaded process: the lists may have been in the middle of a change in a
    /// thread that is not here. What the slots say is the truth; the lists are made anew from it.
    void repair_after_fork() {
        lock_.reset_after_fork();
        free_.clear();
        for_each_segment([this](Segment &segment) { free_.find_in(segment); });
    }

private:
    bool purge_one() {
        OwnerLine *const run = free_.take_longest_dirty();
        if (run == nullptr) {
            return false;
        }
        lock_.unlock(); // the kernel takes its time; the run is nobody's meanwhile
        const std::size_t bytes = span_of(run);
        const bool gone = platform::vm::purge(reinterpret_cast<void *>(memory_of(run)), bytes);
        lock_.lock();
        purged_ += gone ? bytes : 0;
        ++purges_;
        free_.put(run, gone);
        return gone;
    }

    /// More address space: the rest of the newest segment, else a new one.
    bool grow(unsigned slots, unsigned alignment) {
        const auto step = static_cast<unsigned>(AddressSpace::step() / slot_size);
        const unsigned wanted = step < slots + alignment ? slots + alignment : step;
        Segment *const newest = segments_.load(std::memory_order_relaxed);
        if (newest != nullptr && newest->mapped_slots + slots + alignment <= slots_per_segment) {
            const unsigned room = slots_per_segment - newest->mapped_slots;
            const unsigned more = wanted < room ? wanted : room;
            if (space_.extend(reinterpret_cast<void *>(newest->address_of_slot(newest->mapped_slots)),
                              more * slot_size)) {
                add_slots(*newest, more);
                return true;
            }
        }
        return new_segment(metadata_slots + slots + alignment, wanted);
    }

    /// A segment of `wanted` slots, or as near to it as can be had, but not below `least`.
    bool new_segment(unsigned least, unsigned wanted) {
        least = least > slots_per_segment ? slots_per_segment : least;
        for (unsigned n = wanted < least ? least : wanted;; n = n / 2 < least ? least : n / 2) {
            if (void *const window = space_.take(n * slot_size)) {
                add_segment(static_cast<Segment *>(window), n);
                return true;
            }
            if (n == least) {
                return false;
            }
        }
    }

    void add_segment(Segment *segment, unsigned slots) {
        segment->allocator = allocator_;
        segment->mapped_slots = metadata_slots;
        segment->set_kinds(0, metadata_slots, SlotKind::metadata);
        segment->next = segments_.load(std::memory_order_relaxed);
        WindowMap::set(segment, WindowKind::segment);
        // release: pairs with the acquire of for_each_segment.
        segments_.store(segment, std::memory_order_release);
        add_slots(*segment, slots - metadata_slots);
    }

    void add_slots(Segment &segment, unsigned count) {
        OwnerLine *const first = &segment.owner_lines[segment.mapped_slots];
        first->slots = static_cast<std::uint16_t>(count);
        segment.mapped_slots += count;
        free_.put(first, true);
    }

    sync::Lock lock_{sync::Rank::runs};
    AddressSpace space_;
    FreeRuns free_;
    std::size_t purged_ = 0;
    std::size_t purges_ = 0;
    std::atomic<Segment *> segments_{nullptr};
    void *const allocator_;
};

} // namespace cairn
