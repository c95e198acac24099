// SPDX-License-Identifier: MIT
//
// Usage: what has crossed one border of a heap, counted.
//
// Adds:    blocks and bytes, now, at most at one time, and in all; requests by size; from two borders, fragmentation.
// Needs:   nothing.
// Keeps:   the same few hundred bytes whatever is counted.
// Threads: any. A reading while others count is right for each number by itself.
// Cost:    some five atomic additions a block.
// Source:  Hoard, section 5.4: fragmentation is the most that was taken from the operating system, over the most that
//          the program had in use, each at its own moment: max A / max U.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/fatal.hpp>

#include <array>
#include <atomic>

namespace cairn {

/// One number, and the most it has been. relaxed throughout: counts are all that is read, nothing is published by them.
class Level {
public:
    void rise(std::uint64_t by) {
        const std::uint64_t now = now_.fetch_add(by, std::memory_order_relaxed) + by;
        std::uint64_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }
    void fall(std::uint64_t by) { now_.fetch_sub(by, std::memory_order_relaxed); }

    std::uint64_t now() const { return now_.load(std::memory_order_relaxed); }
    std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> now_{0};
    std::atomic<std::uint64_t> peak_{0};
};

/// A number that only grows. relaxed, as above.
class Total {
public:
    void add(std::uint64_t n) { all_.fetch_add(n, std::memory_order_relaxed); }
    std::uint64_t all() const { return all_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> all_{0};
};

class Usage {
public:
    Level blocks;
    Level bytes;       ///< as the heap below rounds them
    Total allocations; ///< that succeeded; a block that changes its size is one more
    Total frees;
    Total failures;
    Total asked; ///< bytes of the requests that succeeded
    Total given; ///< the same, rounded

    /// Requests by size: those of 2^(k-1) to 2^k - 1 bytes at [k], those of none at [0].
    std::array<Total, 65> sizes;

    void count(std::size_t size, std::size_t rounded) {
        allocations.add(1);
        asked.add(size);
        given.add(rounded);
        sizes[static_cast<std::size_t>(std::bit_width(size))].add(1);
    }
};

/// Peak over peak, of what was taken below and what was used above. 1 for nothing over nothing.
inline double fragmentation(const Usage &taken, const Usage &used) {
    const std::uint64_t most_used = used.bytes.peak();
    return most_used == 0 ? 1.0 : static_cast<double>(taken.bytes.peak()) / static_cast<double>(most_used);
}

/// Lines on stderr: the numbers, and the sizes that were asked for. Allocates nothing.
inline void write_usage(const char *name, const Usage &usage) {
    platform::write_line({name,
                          ": ",
                          usage.bytes.now(),
                          " bytes in ",
                          usage.blocks.now(),
                          " blocks, at most ",
                          usage.bytes.peak(),
                          " bytes, ",
                          usage.blocks.peak(),
                          " blocks; ",
                          usage.allocations.all(),
                          " allocations of ",
                          usage.asked.all(),
                          " bytes, rounded to ",
                          usage.given.all(),
                          "; ",
                          usage.frees.all(),
                          " frees, ",
                          usage.failures.all(),
                          " failures"});
    for (std::size_t k = 0; k < usage.sizes.size(); ++k) {
        if (const std::uint64_t n = usage.sizes[k].all(); n != 0) {
            const std::uint64_t least = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
            platform::write_line({name, ": ", n, " requests from ", least, " bytes"});
        }
    }
}

inline void write_fragmentation(const Usage &taken, const Usage &used) {
    const auto percent = static_cast<std::uint64_t>(100 * fragmentation(taken, used));
    platform::write_line({"fragmentation: ", percent, " percent: at most ", taken.bytes.peak(),
                          " bytes taken for at most ", used.bytes.peak(), " bytes used"});
}

} // namespace cairn
