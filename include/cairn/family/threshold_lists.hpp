// SPDX-License-Identifier: MIT
//
// ThresholdLists: private heaps with thresholds, a discipline for ChunkHeap.
//
// Adds:    for each thread and size class two lists of free blocks, the one in use and the reserve.
// Needs:   P::Classes, P::target(block size); blocks with room for two words, so the smallest class may be passed over.
// Keeps:   a list has at most `target` blocks, the reserve exactly that many or none. What is more goes to the shared
//          list as a batch.
// Threads: any; no lock but a BatchStore's, once for `target` blocks.
// Errors:  nullptr.
// Cost:    a load, two stores and the count each way.
// Source:  Hoard, section 6.1: private heaps with thresholds. Of two lists, so that a thread at the border does not go
//          to the shared list at every call.
#pragma once

#include <cairn/family/batch_store.hpp>
#include <cairn/family/slot_heaps.hpp>

namespace cairn::family {

template <class P>
class ThresholdLists {
public:
    using Classes = typename P::Classes;

    void *take(unsigned size_class, ChunkSource &source) {
        const unsigned c = std::max(size_class, smallest_);
        if (Heap *const mine = heaps_.mine(source); CAIRN_LIKELY(mine != nullptr)) {
            return mine->bins[c].take(c, store_, source);
        }
        const sync::Guard guard(lock_);
        return shared_.bins[c].take(c, store_, source);
    }

    void put(ClassChunk &chunk, void *p, ChunkSource &source) {
        const unsigned c = chunk.size_class;
        auto *const block = static_cast<BatchBlock *>(p);
        if (Heap *const mine = heaps_.mine(source); CAIRN_LIKELY(mine != nullptr)) {
            mine->bins[c].put(c, block, store_);
            return;
        }
        const sync::Guard guard(lock_);
        shared_.bins[c].put(c, block, store_);
    }

    void statistics(Statistics &out) const {
        store_.statistics(out);
        count_live(out, shared_);
        heaps_.for_each([&](const Heap &heap) {
            count_live(out, heap);
            ++out.heaps;
        });
        out.heaps_peak = out.heaps; // none goes away
    }

    void hold_across_fork() {
        heaps_.hold_across_fork([](Heap &) {});
        lock_.hold_across_fork();
        store_.hold_across_fork();
    }
    void let_go_after_fork() {
        store_.let_go_after_fork();
        lock_.let_go_after_fork();
        heaps_.let_go_after_fork([](Heap &) {});
    }

private:
    using Store = BatchStore<Classes, P>;
    static constexpr unsigned smallest_ = Classes::class_of(sizeof(BatchBlock));

    struct Bin {
        Batch main;
        BatchBlock *reserve = nullptr; ///< a whole batch, or none
        Tally live;

        void *take(unsigned c, Store &store, ChunkSource &source) {
            if (main.first == nullptr) {
                main = reserve != nullptr ? Batch{reserve, Store::target(c)} : store.get(c, source);
                reserve = nullptr;
                if (main.first == nullptr) {
                    return nullptr;
                }
            }
            BatchBlock *const block = main.first;
            main.first = block->next;
            --main.count;
            live.add(1);
            check(c);
            return block;
        }

        void put(unsigned c, BatchBlock *block, Store &store) {
            if (main.count == Store::target(c)) {
                if (reserve != nullptr) {
                    store.give(c, reserve);
                }
                reserve = main.first;
                main = {};
            }
            block->next = main.first;
            main.first = block;
            ++main.count;
            live.add(-1);
            check(c);
        }

        void check(unsigned c) const {
            if constexpr (platform::checked) {
                if (main.count > Store::target(c) || (main.first == nullptr) != (main.count == 0)) {
                    platform::fatal({"a list of class ", std::uint64_t{c}, " has ", std::uint64_t{main.count},
                                     " blocks, at most ", std::uint64_t{Store::target(c)}, " are allowed"});
                }
            }
        }
    };

    struct Heap {
        Bin bins[Classes::count];
        Heap *next = nullptr;
    };

    static void count_live(Statistics &out, const Heap &heap) {
        for (unsigned c = 0; c < Classes::count; ++c) {
            count_class<Classes>(out, c, 0, 0, heap.bins[c].live.get());
        }
    }

    SlotHeaps<Heap> heaps_;
    sync::Lock lock_{sync::Rank::thread_heap};
    Heap shared_; ///< for threads without a heap: under the lock
    Store store_;
};

} // namespace cairn::family
