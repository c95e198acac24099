// SPDX-License-Identifier: MIT
//
// Heaps in use: how many threads have one, and what each of them may keep free.
//
// Adds:    the count, and share(): a constant of the discipline while there are few heaps for each processor; beyond that,
//          the heaps keep as much together as those few would.
// Keeps:   what all heaps may keep free by such a constant does not grow with the threads of a process, but with the
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
    static constexpr unsigned for_each_processor = 4; ///< so many keep all that the discipline allows

    constexpr HeapsInUse() = default;

    void opened() {
        const std::size_t now = count_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (now > peak_.load(std::memory_order_relaxed)) {
            peak_.store(now, std::memory_order_relaxed);
        }
        if (CAIRN_UNLIKELY(most_.load(std::memory_order_relaxed) == 0)) {
            most_.store(for_each_processor * platform::processors(), std::memory_order_relaxed);
        }
    }
    void closed() { count_.fetch_sub(1, std::memory_order_relaxed); }

    /// A hint: whether the program has threads that allocate.
    bool several() const { return count_.load(std::memory_order_relaxed) > 1; }

    /// The most that were in use so far.
    std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }

    /// In the child of a fork.
    void forget() {
        count_.store(0, std::memory_order_relaxed);
        peak_.store(0, std::memory_order_relaxed);
    }

    /// Of so many bytes for each heap, what one may keep; all of them together what together() says.
    std::size_t share(std::size_t bytes) const {
        const std::size_t heaps = count_.load(std::memory_order_relaxed);
        const std::size_t most = most_.load(std::memory_order_relaxed);
        return CAIRN_LIKELY(heaps <= most) ? bytes : bytes * most / heaps;
    }

    std::size_t together(std::size_t bytes) const {
        const std::size_t heaps = count_.load(std::memory_order_relaxed);
        const std::size_t most = most_.load(std::memory_order_relaxed);
        return bytes * (heaps < most ? heaps : most);
    }

private:
    std::atomic<std::size_t> count_{0}; ///< relaxed, all: they scale thresholds
    std::atomic<std::size_t> peak_{0};
    std::atomic<unsigned> most_{0}; ///< heaps that have their full share; 0 before the first is open
};

} // namespace cairn
