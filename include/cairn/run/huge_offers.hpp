// SPDX-License-Identifier: MIT
//
// Huge offers: where the system gives huge pages unasked, large blocks may have them, too, though segments may not: the
// program decides how much of such a block it touches.
//
// Adds:    begin, for a new block, which marks its fresh memory for huge pages; end, before the memory has another use.
// Needs:   AddressSpace, which knows the system's setting and the process's.
// Keeps:   at most 256 blocks are marked: each may make two mappings more.
// Threads: any; a block is one thread's meanwhile.
// Cost:    a load. Where the system gives them unasked, and for blocks of 2 MiB or more: a system call each.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/free_runs.hpp>

namespace cairn {

class HugeOffers {
public:
    static constexpr unsigned most = 256;

    constexpr HugeOffers() = default;

    /// A large block gets the run.
    void begin(const AddressSpace &space, const Run &run) {
        const bool may = run.grown && space.is_unasked() && space.refuses_unasked();
        run.first->offered = CAIRN_UNLIKELY(may) && offer(run.first);
    }

    /// Its last slots, behind the first `slots`, become free.
    static void shorten(const OwnerLine *run, unsigned slots) {
        if (CAIRN_UNLIKELY(run->offered)) {
            platform::vm::huge_pages(reinterpret_cast<void *>(memory_of(run + slots)),
                                     (run->slots - slots) * slot_size, false);
        }
    }

    /// The run becomes free.
    void end(OwnerLine *run) {
        if (CAIRN_UNLIKELY(run->offered)) {
            shorten(run, 0);
            count_.fetch_sub(1, std::memory_order_relaxed); // relaxed: a number by itself
        }
    }

    /// In the child of a fork: forgets all blocks, then counts the live ones. What was free, and kept for the next
    /// block of its thread, has another use.
    void forget() { count_.store(0, std::memory_order_relaxed); }
    void recount(Segment &segment, unsigned slot) {
        OwnerLine *const run = &segment.owner_lines[slot];
        count_.fetch_add(run->offered, std::memory_order_relaxed);
        if (segment.large_block(slot) == Segment::dead) {
            end(run);
        }
    }

private:
    CAIRN_NOINLINE bool offer(const OwnerLine *run) {
        const std::uintptr_t from = align_up(memory_of(run), platform::vm::huge_page);
        const std::uintptr_t end = align_down(memory_of(run) + span_of(run), platform::vm::huge_page);
        if (from >= end) {
            return false;
        }
        // relaxed, both: a number by itself.
        const bool marked = count_.fetch_add(1, std::memory_order_relaxed) < most &&
                            platform::vm::huge_pages(reinterpret_cast<void *>(from), end - from, true);
        if (!marked) {
            count_.fetch_sub(1, std::memory_order_relaxed);
        }
        return marked;
    }

    std::atomic<unsigned> count_{0}; ///< blocks that are marked
};

} // namespace cairn
