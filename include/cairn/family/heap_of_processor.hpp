// SPDX-License-Identifier: MIT
//
// Heap of a processor: one number of as many as there are processors.
//
// Adds:    the number of the heap that the calling thread uses, below Most; how many there are.
// Needs:   Count heaps; 0: as many as the process has processors, but Most at most.
// Keeps:   a thread has the same number all its life.
// Threads: any.
// Cost:    a load, a hash of the thread's id, a multiplication; at the first call a system call.
// Source:  Hoard, section 3, and NBmalloc, section 3: heaps are found by a hash of the thread's id.
#pragma once

#include <cairn/platform/processors.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/platform/thread_id.hpp>

#include <algorithm>
#include <atomic>

namespace cairn::family {

template <unsigned Count, unsigned Most>
class HeapOfProcessor {
public:
    unsigned number() {
        unsigned count = count_.load(std::memory_order_relaxed); // a number; nothing goes with it
        if (CAIRN_UNLIKELY(count == 0)) {
            count = std::min(Count != 0 ? Count : platform::processors(), Most);
            count_.store(count, std::memory_order_relaxed);
        }
        return static_cast<unsigned>((platform::mix(platform::thread_id()) >> 32) * count >> 32);
    }

    /// 0: no thread has asked for its number yet. relaxed: a number that is set once.
    unsigned count() const { return count_.load(std::memory_order_relaxed); }

private:
    static_assert(Most > 0 && Count <= Most);

    std::atomic<unsigned> count_{0};
};

} // namespace cairn::family
