// SPDX-License-Identifier: MIT
//
// Heaps in use: how many threads have a heap, and what each heap may keep free.
//
// Adds:    the count, and share(): all of a limit while there are at most four heaps for each processor; with more,
//          all heaps together keep as much as those few would.
// Keeps:   the memory that all heaps together may keep free does not grow with the threads of a process, but with the
//          processors that it runs on: a processor runs one thread at a time.
// Threads: any.
// Cost:    a load.
// Source:  Hoard, section 3: heaps for processors, not for threads (docs/decisions/slack-with-many-threads.md).
#pragma once

#include <cairn/platform/processors.hpp>

#include <atomic>
#include <cstddef>

namespace cairn {

class alignas(platform::line_pair) HeapsInUse { // every slow path reads it
public:
    static constexpr unsigned for_each_processor = 4; ///< as many heaps keep all that the discipline allows

    constexpr HeapsInUse() = default;

    /// A thread gets a heap.
    void opened() {
        const std::size_t now = count_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (now > peak_.load(std::memory_order_relaxed)) {
            peak_.store(now, std::memory_order_relaxed);
        }
        if (CAIRN_UNLIKELY(most_.load(std::memory_order_relaxed) == 0)) {
            most_.store(for_each_processor * platform::processors(), std::memory_order_relaxed);
        }
    }
    /// A thread gives its heap back.
    void closed() { count_.fetch_sub(1, std::memory_order_relaxed); }

    /// Whether more than one thread has a heap. A hint.
    bool several() const { return count_.load(std::memory_order_relaxed) > 1; }

    /// The most heaps that were in use at one time.
    std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }

    /// In the child of a fork.
    void forget() {
        count_.store(0, std::memory_order_relaxed);
        peak_.store(0, std::memory_order_relaxed);
    }

    /// How much of a limit of `bytes` for each heap one heap may keep.
    std::size_t share(std::size_t bytes) const {
        const std::size_t heaps = count_.load(std::memory_order_relaxed);
        const std::size_t most = most_.load(std::memory_order_relaxed);
        return CAIRN_LIKELY(heaps <= most) ? bytes : bytes * most / heaps;
    }

    /// How much all heaps may keep together by a limit of `bytes` for each heap.
    std::size_t together(std::size_t bytes) const {
        const std::size_t heaps = count_.load(std::memory_order_relaxed);
        const std::size_t most = most_.load(std::memory_order_relaxed);
        return bytes * (heaps < most ? heaps : most);
    }

private:
    std::atomic<std::size_t> count_{0}; ///< relaxed, all three: hints that scale limits
    std::atomic<std::size_t> peak_{0};
    std::atomic<unsigned> most_{0}; ///< heaps that keep all of a limit; 0 before the first opens
};

} // namespace cairn
