// SPDX-License-Identifier: MIT
//
// Large heap: large blocks, each a run of slots in a segment.
//
// Adds:    malloc, free, and growing or shrinking in place; a thread that has freed a block of less than 8 MiB gets the
//          run again for a block of the same length (SpareRuns).
// Needs:   RunHeap below.
// Keeps:   the descriptor of a block holds its size and whether it is live. The slot kinds do not say whether it is
//          live: the kinds of 64 slots share a cache line.
// Threads: any; an atomic exchange of the live word detects two threads that free one block at the same time.
// Errors:  nullptr.
// Cost:    the lock of a stripe, or an atomic exchange; memory that reads as zero is not cleared again.
// Source:  Wen and Deng, section 2.3 (raw blocks).
#pragma once

#include <cairn/run/huge_offers.hpp>
#include <cairn/run/large_size.hpp>
#include <cairn/run/large_statistics.hpp>
#include <cairn/run/spare_runs.hpp>

namespace cairn {

class LargeHeap {
public:
    /// Longer blocks are huge: mappings of their own.
    static constexpr std::size_t largest = window_size / 2;
    /// The coarsest alignment at which a window holds a run of half its length.
    static constexpr std::size_t largest_alignment = window_size / 4;

    /// The longest block that a run can hold; used for huge blocks when no mapping can be had.
    static constexpr std::size_t longest = RunHeap::longest_run * slot_size;

    explicit constexpr LargeHeap(RunHeap &runs) : runs_(runs) {}
    LargeHeap(const LargeHeap &) = delete;
    LargeHeap &operator=(const LargeHeap &) = delete;

    /// A block, or nullptr; `clean` is set to whether it reads as zero. size <= longest, alignment <=
    /// largest_alignment. `heap_number`: the number of the thread's heap, which gives its home stripe.
    void *malloc(std::size_t size, std::size_t alignment, bool &clean,
                 unsigned heap_number = SpareRuns::no_heap) {
        const Run run = runs_.allocate(large_size::slots_for(size), slots_of_alignment(alignment),
                                       RunHeap::Touched::now, RunHeap::home_of(heap_number));
        clean = run.clean;
        return begin(run, size, alignment, heap_number);
    }

    /// A block in a dirty free run, or nullptr if none fits, for which long spare runs are freed.
    void *malloc_used(std::size_t size, std::size_t alignment, unsigned heap_number = SpareRuns::no_heap) {
        const unsigned slots = large_size::slots_for(size), home = RunHeap::home_of(heap_number);
        Run run = runs_.allocate_used(slots, slots_of_alignment(alignment), home);
        if (run.first == nullptr && give_up_long_spares()) {
            run = runs_.allocate_used(slots, slots_of_alignment(alignment), home);
        }
        return begin(run, size, alignment, heap_number);
    }

    /// A block in the thread's spare run, if that has the length for `size`; otherwise nullptr. The memory is dirty.
    void *malloc_spare(std::size_t size, std::size_t alignment, unsigned heap_number) {
        const unsigned slots = large_size::slots_for(size);
        if (size > SpareRuns::longest || spares_.slots(heap_number) != slots || alignment > slot_size ||
            heap_number == SpareRuns::no_heap) {
            return nullptr;
        }
        OwnerLine *const spare = spares_.take(heap_number);
        if (spare != nullptr && spare->slots == slots) {
            return large_size::begin(spare, size, alignment);
        }
        retire(spare);
        return nullptr;
    }

    /// An upper bound of the bytes in long spare runs.
    std::size_t spares() const { return spares_.long_room(); }

    /// When memory grows: frees the spare runs if there are long ones. Whether any run was freed.
    bool give_up_long_spares() { return spares() != 0 && give_up_spares() != 0; }

    /// Frees all spare runs. Returns their bytes.
    std::size_t give_up_spares() {
        std::size_t bytes = 0;
        for (unsigned place = 0; place < SpareRuns::places; ++place) {
            OwnerLine *const run = spares_.give_up(place);
            bytes += run != nullptr ? span_of(run) : 0;
            retire(run);
        }
        return bytes;
    }

    /// In the child of a fork of a process with several threads. The repair of the runs, after this, frees the spares.
    void repair_after_fork() {
        spares_.forget();
        offers_.forget();
        runs_.for_each_segment([this](Segment &segment) {
            for (unsigned slot = metadata_slots; slot < segment.mapped_slots; ++slot) {
                if (segment.kind(slot) == SlotKind::large) {
                    offers_.recount(segment, slot);
                }
            }
        });
    }

    static std::size_t size_of(const OwnerLine *first) { return large_size::of(first); }

    /// The result of free(). nothing: the block was not live. kept: the run became a spare. kept_long: a long run
    /// became a spare, and the caller checks whether free memory exceeds its limit. run: a run was freed.
    enum class Freed : unsigned char { nothing, kept, kept_long, run };

    /// Frees a block. `heap_number`: the number of the thread's heap, for malloc_spare().
    Freed free(OwnerLine *first, unsigned heap_number = SpareRuns::no_heap) {
        // relaxed: the exchange alone decides which of two threads frees the block; the contents of the run are handed
        // over by SpareRuns::put(), or by the lock in release().
        auto &block = shared_of(first)->starts_below;
        if (block.exchange(Segment::dead, std::memory_order_relaxed) == Segment::dead) {
            return Freed::nothing;
        }
        const bool is_long = first->slots > SpareRuns::short_slots;
        OwnerLine *const left = spares_.put(heap_number, first);
        retire(left);
        if (CAIRN_UNLIKELY(is_long)) {
            retire(spares_.excess(heap_number));
        }
        if (left != nullptr) {
            return Freed::run;
        }
        return is_long && spares_.check_is_due(heap_number) ? Freed::kept_long : Freed::kept;
    }

    /// Makes a block longer or shorter in place. False, and nothing has changed, if there is no room for `size`.
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
            HugeOffers::shorten(first, slots);
            runs_.shorten(first, slots);
        }
        const std::size_t end_before = shift_of(first) + size_of(first);
        large_size::change(first, size);
        if (const std::size_t gone = large_size::drop_tail(first, end_before); gone != 0) {
            runs_.gave_back(gone);
        }
        return true;
    }

    template <class S>
    void statistics(S &out) const {
        const LargeCount live = count_large(runs_);
        out.large_live = live.slots * slot_size;
        out.large_live_blocks = live.blocks;
        out.free_dirty += spares_.bytes();
    }

private:
    static unsigned slots_of_alignment(std::size_t alignment) {
        return static_cast<unsigned>(alignment > slot_size ? alignment / slot_size : 1);
    }

    /// Makes a run a block; nullptr for none.
    void *begin(const Run &run, std::size_t size, std::size_t alignment, unsigned heap_number) {
        if (run.first == nullptr) {
            return nullptr;
        }
        offers_.begin(runs_.space(), run);
        spares_.note(heap_number, run.first);
        Segment *const segment = Segment::of(run.first);
        const unsigned slot = segment->slot_of(run.first);
        segment->set_kinds(slot + 1, run.first->slots - 1u, SlotKind::large_tail);
        segment->set_kinds(slot, 1, SlotKind::large);
        return large_size::begin(run.first, size, alignment);
    }

    /// Frees a run that is neither a block nor a spare any more; nothing for nullptr.
    void retire(OwnerLine *run) {
        if (run != nullptr) {
            offers_.end(run);
            runs_.release(run);
        }
    }

    RunHeap &runs_;
    SpareRuns spares_;
    HugeOffers offers_;
};

} // namespace cairn
