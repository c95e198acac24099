// SPDX-License-Identifier: MIT
//
// Pure private heaps (STL's pthread_alloc, Cilk 4.1): each thread allocates from its heap and frees to its heap, and
// never looks at another one. No lock on the way, no atomic read-modify-write.
//
// Source: Hoard, section 6.1 and Table 7: fast, scalable; does not avoid false sharing (what a thread frees it hands
// out again, so that pieces of one cache line stay spread over the threads: passive), blowup unbounded (what a consumer
// frees its producer never gets back, section 2.2).
#pragma once

#include <cairn/family/chunk_heap.hpp>
#include <cairn/family/slot_heaps.hpp>
#include <cairn/sizeclass/geometric.hpp>

namespace cairn {

struct PrivateParameters {
    using Classes = GeometricSizeClasses<16_KiB, 1_KiB>;
};

namespace family {

template <class Classes>
class PrivateLists {
public:
    void *take(unsigned c, ChunkSource &source) {
        if (Heap *const mine = heaps_.mine(source); CAIRN_LIKELY(mine != nullptr)) {
            return mine->bins.take(c, source);
        }
        const sync::Guard guard(lock_);
        return shared_.take(c, source);
    }

    void put(ClassChunk &chunk, void *block, ChunkSource &source) {
        if (Heap *const mine = heaps_.mine(source); CAIRN_LIKELY(mine != nullptr)) {
            mine->bins.put(chunk.size_class, block);
            return;
        }
        const sync::Guard guard(lock_);
        shared_.put(chunk.size_class, block);
    }

    void statistics(Statistics &out) const {
        shared_.statistics(out);
        heaps_.for_each([&](const Heap &heap) {
            heap.bins.statistics(out);
            ++out.heaps;
        });
        out.heaps_peak = out.heaps; // none goes away
    }

    /// The heaps need nothing: in the child each has its thread or none.
    void hold_across_fork() {
        heaps_.hold_across_fork([](Heap &) {});
        lock_.hold_across_fork();
    }
    void let_go_after_fork() {
        lock_.let_go_after_fork();
        heaps_.let_go_after_fork([](Heap &) {});
    }

private:
    struct Heap {
        ChunkBins<Classes> bins;
        Heap *next = nullptr;
    };

    SlotHeaps<Heap> heaps_;
    sync::Lock lock_{sync::Rank::thread_heap};
    ChunkBins<Classes> shared_; ///< for threads without a heap: under the lock
};

} // namespace family

template <class P = PrivateParameters>
using PrivateHeaps = family::ChunkHeap<typename P::Classes, family::PrivateLists<typename P::Classes>>;

} // namespace cairn
