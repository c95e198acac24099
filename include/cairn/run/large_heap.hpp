// SPDX-License-Identifier: MIT
//
// Large heap: blocks of 64 KiB to a segment, each a run of slots.
//
// Adds:    malloc, free, and growing or shrinking in place.
// Needs:   RunHeap below.
// Keeps:   the block's size stands in its descriptor; the first slot's kind is `large` exactly while it is
//          live.
// Threads: any; who frees a block twice at one time from two threads is caught by the exchange of the slot's
//          kind.
// Errors:  nullptr.
// Cost:    the run heap's lock; no clearing of memory that is clean already.
// Source:  Wen and Deng, section 2.3 (raw blocks).
#pragma once

#include <cairn/run/run_heap.hpp>

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

    /// size <= longest, alignment <= largest_alignment.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean) {
        const Run run = runs_.allocate(slots_for(size), slots_of_alignment(alignment));
        if (run.first == nullptr) {
            return nullptr;
        }
        clean = run.clean;
        Segment *const segment = Segment::of(run.first);
        const unsigned slot = segment->slot_of(run.first);
        set_size(run.first, size);
        segment->set_kinds(slot + 1, run.first->slots - 1u, SlotKind::large_rest);
        segment->set_kinds(slot, 1, SlotKind::large);
        live_.fetch_add(span_of(run.first), std::memory_order_relaxed);
        live_blocks_.fetch_add(1, std::memory_order_relaxed);
        return reinterpret_cast<void *>(memory_of(run.first));
    }

    /// Whether such a block would lie in memory that was used before. A hint: other threads take runs too.
    bool fits_used_run(std::size_t size, std::size_t alignment) {
        return runs_.has_dirty(slots_for(size), slots_of_alignment(alignment));
    }

    static std::size_t size_of(const OwnerLine *first) { return shared_of(first)->block_size; }

    /// False if the block is not live any more.
    bool free(OwnerLine *first) {
        Segment *const segment = Segment::of(first);
        // relaxed: that it is one operation keeps two threads apart; what the run holds is handed over by the
        // lock that release() takes.
        SlotKind expected = SlotKind::large;
        if (!segment->kinds[segment->slot_of(first)].compare_exchange_strong(expected, SlotKind::taken,
                                                                             std::memory_order_relaxed)) {
            return false;
        }
        live_.fetch_sub(span_of(first), std::memory_order_relaxed);
        live_blocks_.fetch_sub(1, std::memory_order_relaxed);
        runs_.release(first);
        return true;
    }

    /// True if the block now has room for `size` where it is.
    bool resize_in_place(OwnerLine *first, std::size_t size) {
        if (size > largest) {
            return false;
        }
        const unsigned slots = slots_for(size);
        const unsigned before = first->slots;
        if (slots > before && !runs_.extend(first, slots, SlotKind::large_rest)) {
            return false;
        }
        if (slots < before) {
            runs_.shorten(first, slots);
        }
        live_.fetch_add((std::size_t{slots} - before) * slot_size, std::memory_order_relaxed);
        set_size(first, size);
        return true;
    }

    template <class S>
    void statistics(S &out) const {
        out.large_live = live_.load(std::memory_order_relaxed);
        out.large_live_blocks = live_blocks_.load(std::memory_order_relaxed);
    }

private:
    static unsigned slots_for(std::size_t size) { return static_cast<unsigned>(ceil_div(size, slot_size)); }
    static unsigned slots_of_alignment(std::size_t alignment) {
        return static_cast<unsigned>(alignment > slot_size ? alignment / slot_size : 1);
    }

    static void set_size(OwnerLine *first, std::size_t size) {
        shared_of(first)->block_size = static_cast<std::uint32_t>(align_up(size, platform::smallest_page));
    }

    RunHeap &runs_;
    // relaxed: counters.
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> live_blocks_{0};
};

} // namespace cairn
