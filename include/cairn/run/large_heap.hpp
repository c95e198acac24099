// SPDX-License-Identifier: MIT
//
// Large heap: blocks of 64 KiB to a segment, each a run of slots.
//
// Adds:    malloc, free, and growing or shrinking in place; a block of less than 8 MiB goes to who has just freed one like it.
// Needs:   RunHeap below.
// Keeps:   the block's size stands in its descriptor, and whether it is live too: not among the slots' kinds, of which 64 share
//          a line.
// Threads: any; who frees a block twice at one time from two threads is caught by the exchange of that word.
// Errors:  nullptr.
// Cost:    the lock of a stripe of runs, or an exchange; no clearing of memory that is clean already.
// Source:  Wen and Deng, section 2.3 (raw blocks).
#pragma once

#include <cairn/run/large_size.hpp>
#include <cairn/run/live_runs.hpp>
#include <cairn/run/run_heap.hpp>
#include <cairn/run/spare_runs.hpp>

namespace cairn {

class LargeHeap {
public:
    /// Longer blocks are better off in mappings of their own.
    static constexpr std::size_t largest = window_size / 2;
    /// A window holds a run of half its length at no coarser alignment.
    static constexpr std::size_t largest_alignment = window_size / 4;

    /// But where address space is short, runs may serve them too.
    static constexpr std::size_t longest = RunHeap::longest_run * slot_size;

    explicit constexpr LargeHeap(RunHeap &runs) : runs_(runs) {}
    LargeHeap(const LargeHeap &) = delete;
    LargeHeap &operator=(const LargeHeap &) = delete;

    /// size <= longest, alignment <= largest_alignment. `who`: a number of the thread, for its home among the stripes.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean, unsigned who = SpareRuns::nobody) {
        const unsigned slots = large_size::slots_for(size);
        const Run run = runs_.allocate(slots, slots_of_alignment(alignment), RunHeap::Touched::now,
                                       RunHeap::home_of(who));
        if (run.first == nullptr) {
            return nullptr;
        }
        clean = run.clean;
        spares_.note(who, run.first);
        live_.add(run.first);
        Segment *const segment = Segment::of(run.first);
        const unsigned slot = segment->slot_of(run.first);
        segment->set_kinds(slot + 1, slots - 1, SlotKind::large_tail);
        segment->set_kinds(slot, 1, SlotKind::large);
        return large_size::begin(run.first, size, alignment);
    }

    /// What the thread has freed last, if it was kept and is as long; else nullptr. It was used before.
    void *malloc_spare(std::size_t size, std::size_t alignment, unsigned who) {
        const unsigned slots = large_size::slots_for(size);
        if (size > SpareRuns::longest || spares_.slots(who) != slots || alignment > slot_size ||
            who == SpareRuns::nobody) {
            return nullptr;
        }
        OwnerLine *const spare = spares_.take(who);
        if (spare != nullptr && spare->slots == slots) {
            return large_size::begin(spare, size, alignment);
        }
        retire(spare);
        return nullptr;
    }

    /// Whether such a block would lie in memory that was used before; long runs that are kept are given up for it. A hint: other
    /// threads take runs too.
    bool make_fit_used_run(std::size_t size, std::size_t alignment) {
        const unsigned slots = large_size::slots_for(size), to = slots_of_alignment(alignment);
        return runs_.has_dirty(slots, to) || (give_up_long_spares() && runs_.has_dirty(slots, to));
    }

    /// So many bytes at most are in long runs that are kept for who has freed them.
    std::size_t spares() const { return spares_.long_room(); }

    /// When memory grows. Whether there were any.
    bool give_up_long_spares() { return spares() != 0 && give_up_spares() != 0; }

    /// What is kept becomes free runs. Bytes.
    std::size_t give_up_spares() {
        std::size_t bytes = 0;
        for (unsigned who = 0; who < SpareRuns::places; ++who) {
            OwnerLine *const run = spares_.give_up(who);
            bytes += run != nullptr ? span_of(run) : 0;
            retire(run);
        }
        return bytes;
    }

    /// In the child of a fork of a threaded process, after the runs: those that were kept are free ones now.
    void repair_after_fork() {
        spares_.forget();
        live_.forget();
        runs_.for_each_segment([this](Segment &segment) {
            for (unsigned slot = metadata_slots; slot < segment.mapped_slots; ++slot) {
                if (segment.kind(slot) == SlotKind::large && segment.large_block(slot) != Segment::dead) {
                    live_.add(&segment.owner_lines[slot]);
                }
            }
        });
    }

    static std::size_t size_of(const OwnerLine *first) { return large_size::of(first); }

    /// nothing: the block is not live any more. kept_long: it waits, and now and then such a one is to ask for a surplus.
    enum class Freed : unsigned char { nothing, kept, kept_long, run };

    /// What became free of it: a run, or it is kept, and what was kept before was none. `who`: for malloc_spare.
    Freed free(OwnerLine *first, unsigned who = SpareRuns::nobody) {
        // relaxed: one operation keeps two threads apart; what the run holds is handed over by put(), or by the lock of release().
        auto &block = shared_of(first)->starts_below;
        if (block.exchange(Segment::dead, std::memory_order_relaxed) == Segment::dead) {
            return Freed::nothing;
        }
        const bool is_long = first->slots > SpareRuns::short_slots;
        OwnerLine *const left = spares_.put(who, first);
        retire(left);
        if (CAIRN_UNLIKELY(is_long)) {
            retire(spares_.excess(who));
        }
        return left != nullptr                         ? Freed::run
               : is_long && spares_.is_to_be_told(who) ? Freed::kept_long
                                                       : Freed::kept;
    }

    /// True if the block now has room for `size` where it is.
    bool resize_in_place(OwnerLine *first, std::size_t size) {
        if (size > largest) {
            return false;
        }
        const unsigned slots = large_size::slots_for(size, shift_of(first));
        const unsigned before = first->slots;
        if (slots > before && !runs_.extend(first, slots, SlotKind::large_tail)) {
            return false;
        }
        if (slots < before) {
            runs_.shorten(first, slots);
        }
        live_.change(first, before);
        const std::size_t end_before = shift_of(first) + size_of(first);
        large_size::change(first, size);
        large_size::drop_tail(first, end_before);
        return true;
    }

    template <class S>
    void statistics(S &out) const {
        const LiveRuns::Sum kept = spares_.sum(), live = live_.sum().without(kept);
        out.large_live = live.bytes;
        out.large_live_blocks = live.blocks;
        out.free_dirty += kept.bytes;
    }

private:
    static unsigned slots_of_alignment(std::size_t alignment) {
        return static_cast<unsigned>(alignment > slot_size ? alignment / slot_size : 1);
    }

    /// Neither a block nor a spare any more, unless it is nullptr.
    void retire(OwnerLine *run) {
        if (run != nullptr) {
            live_.remove(run);
            runs_.release(run);
        }
    }

    RunHeap &runs_;
    SpareRuns spares_;
    LiveRuns live_; ///< spares among them
};

} // namespace cairn
