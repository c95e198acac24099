// SPDX-License-Identifier: MIT
//
// BatchStore: the shared lists of heaps with thresholds. A list for each size class, whose elements are whole batches.
//
// Adds:    give and get, a batch at a time; a batch of fresh blocks when the list is empty.
// Needs:   a ChunkSource, handed in; blocks with room for two words; Limits::target(block size), the blocks of a batch.
// Keeps:   a batch in a list has exactly `target` blocks.
// Threads: any; a lock for each class.
// Errors:  a batch without blocks, or a shorter one, when the source has no chunk.
// Cost:    a lock for `target` blocks; giving and getting move one pointer. Only fresh batches are linked block by
//          block.
// Source:  Hoard, section 6.1 on DYNIX (McKenney and Slingwine) and Vee and Hsu: "some portion of the free memory is
//          moved to a shared heap".
#pragma once

#include <cairn/family/chunk_bins.hpp>

namespace cairn::family {

struct BatchBlock {
    BatchBlock *next;
    BatchBlock *next_batch; ///< of a batch's first block, while the batch is in a shared list
};

struct Batch {
    BatchBlock *first = nullptr;
    std::size_t count = 0;
};

template <SizeClasses Classes, class Limits>
class BatchStore {
public:
    static constexpr std::size_t target(unsigned c) { return Limits::target(Classes::size_of(c)); }

    void give(unsigned c, BatchBlock *first) {
        List &list = lists_[c];
        const sync::Guard guard(list.lock);
        first->next_batch = list.batches;
        list.batches = first;
        list.given.add(1);
    }

    Batch get(unsigned c, ChunkSource &source) {
        List &list = lists_[c];
        const sync::Guard guard(list.lock);
        if (BatchBlock *const first = list.batches; first != nullptr) {
            list.batches = first->next_batch;
            list.taken.add(1);
            return {first, target(c)};
        }
        return carve_locked(list, c, source);
    }

    /// Blocks, but not who has them: `live` is known to the private heaps.
    void statistics(Statistics &out) const {
        for (unsigned c = 0; c < Classes::count; ++c) {
            const List &list = lists_[c];
            count_class<Classes>(out, c, list.carver.chunks(), list.carver.carved(), 0);
            out.superblocks_to_global += list.given.get();
            out.superblocks_from_global += list.taken.get();
        }
    }

    void hold_across_fork() {
        for (List &list : lists_) {
            list.lock.hold_across_fork();
        }
    }
    void let_go_after_fork() {
        for (List &list : lists_) {
            list.lock.let_go_after_fork();
        }
    }

private:
    struct alignas(platform::cache_line) List {
        sync::Lock lock{sync::Rank::global_heap};
        BatchBlock *batches = nullptr;
        ChunkCarver carver;
        Tally given;
        Tally taken;
    };

    static Batch carve_locked(List &list, unsigned c, ChunkSource &source) {
        Batch batch;
        BatchBlock **end = &batch.first;
        while (batch.count < target(c)) {
            auto *const block =
                static_cast<BatchBlock *>(list.carver.carve(c, Classes::size_of(c), source, nullptr));
            if (block == nullptr) {
                break;
            }
            *end = block;
            end = &block->next;
            ++batch.count;
        }
        *end = nullptr;
        return batch;
    }

    List lists_[Classes::count];
};

} // namespace cairn::family
