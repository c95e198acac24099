// SPDX-License-Identifier: MIT
//
// Live runs: the number of runs in use as large blocks, and the sum of their lengths.
//
// Adds:    a counter for each stripe, so that threads with different stripes write to different cache lines.
// Needs:   runs in segments; at most 2^32 slots in all.
// Threads: any.
// Cost:    an atomic addition.
#pragma once

#include <cairn/run/run_stripes.hpp>

namespace cairn {

class LiveRuns {
public:
    struct Sum {
        std::size_t blocks = 0;
        std::size_t bytes = 0;

        /// The difference of two sums; 0 where other threads have changed the counters between the two so that `some`
        /// is larger.
        Sum without(Sum some) const {
            return {blocks > some.blocks ? blocks - some.blocks : 0,
                    bytes > some.bytes ? bytes - some.bytes : 0};
        }
    };

    constexpr LiveRuns() = default;

    void add(const OwnerLine *run) { note(run, word(1, run->slots)); }
    void remove(const OwnerLine *run) { note(run, 0 - word(1, run->slots)); }

    /// The length of a run has changed; it had `before` slots.
    void change(const OwnerLine *run, unsigned before) { note(run, word(0, run->slots) - word(0, before)); }

    /// In the child of a fork, which counts the blocks again: runs that other threads of the parent were allocating or
    /// freeing are not blocks.
    void forget() {
        for (Count &count : counts_) {
            count.word.store(0, std::memory_order_relaxed);
        }
    }

    Sum sum() const {
        Sum all;
        for (const Count &count : counts_) {
            const std::uint64_t now = count.word.load(std::memory_order_relaxed);
            all.blocks += static_cast<std::uint32_t>(now);
            all.bytes += (now >> 32) * slot_size;
        }
        return all;
    }

private:
    struct alignas(platform::cache_line) Count {
        std::atomic<std::uint64_t> word{0}; ///< relaxed: two counters; upper half slots, lower half blocks
    };

    static constexpr std::uint64_t word(std::uint64_t blocks, std::uint64_t slots) {
        return slots << 32 | blocks;
    }
    void note(const OwnerLine *run, std::uint64_t more) {
        counts_[Segment::of(run)->stripe].word.fetch_add(more, std::memory_order_relaxed);
    }

    Count counts_[RunStripes::most];
};

} // namespace cairn
