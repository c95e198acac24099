// SPDX-License-Identifier: MIT
//
// Tally: a count that one thread at a time keeps and any thread may read; and how counts of size classes add up.
//
// Needs:   writers in order, by a lock or because there is only one.
// Threads: one writer at a time, any readers.
// Cost:    a load and a store; no read-modify-write.
#pragma once

#include <cairn/core/statistics.hpp>

#include <atomic>

namespace cairn::family {

class Tally {
public:
    // relaxed, both: the writer reads its own last store, and a reader wants a number, not what lies behind it.
    void add(std::int64_t n) {
        count_.store(count_.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(n),
                     std::memory_order_relaxed);
    }
    std::uint64_t get() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

/// Adds one heap's counts of a class. `live` may be below 0 by itself: the fields are sums modulo 2^64.
template <class Classes>
void count_class(Statistics &out, unsigned c, std::uint64_t chunks, std::uint64_t carved,
                 std::uint64_t live) {
    static_assert(Classes::count <= max_size_classes);
    const std::size_t size = Classes::size_of(c);
    SizeClassStatistics &row = out.by_class[c];
    out.size_classes = Classes::count;
    row.block_size = static_cast<std::uint32_t>(size);
    row.superblocks += static_cast<std::uint32_t>(chunks);
    row.live_blocks += live;
    row.free_blocks += carved - live;
    out.superblocks += chunks;
    out.superblocks_fresh += chunks;
    out.small_live += live * size;
    out.small_resident += carved * size;
}

} // namespace cairn::family
