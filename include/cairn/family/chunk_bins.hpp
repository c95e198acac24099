// SPDX-License-Identifier: MIT
//
// ChunkBins: a list of free blocks for each size class, LIFO, and behind it a chunk that is carved block by block.
//
// Adds:    take and put by class; counts for statistics.
// Needs:   a ChunkSource, handed in.
// Keeps:   a block that was put is taken before one is carved; all blocks of a chunk are carved before the next chunk.
//          The chunks that it carves name `owner` as theirs.
// Threads: one at a time; the counts can be read by others meanwhile.
// Errors:  nullptr when the source has no chunk.
// Cost:    a load and two stores each way, and the count.
// Source:  Hoard, section 6: STL's pthread_alloc and Cilk 4.1 keep such lists.
#pragma once

#include <cairn/combine/segregated.hpp>
#include <cairn/family/chunk_source.hpp>
#include <cairn/family/tally.hpp>

namespace cairn::family {

/// Hands out the blocks of one chunk after another.
class ChunkCarver {
public:
    void *carve(unsigned size_class, std::size_t block_size, ChunkSource &source, void *owner) {
        if (left_ == 0) {
            ClassChunk *const chunk = source.chunk();
            if (chunk == nullptr) {
                return nullptr;
            }
            chunk->format(size_class, block_size, owner);
            next_ = chunk->blocks();
            left_ = ClassChunk::capacity(block_size);
            chunks_.add(1);
        }
        char *const block = next_;
        next_ += block_size;
        --left_;
        carved_.add(1);
        return block;
    }

    std::uint64_t chunks() const { return chunks_.get(); }
    std::uint64_t carved() const { return carved_.get(); }

private:
    char *next_ = nullptr;
    std::size_t left_ = 0;
    Tally chunks_;
    Tally carved_;
};

struct FreeBlock {
    FreeBlock *next;
};

template <SizeClasses Classes>
class ChunkBins {
public:
    void *take(unsigned c, ChunkSource &source, void *owner = nullptr) {
        Bin &bin = bins_[c];
        void *block = bin.free;
        if (CAIRN_LIKELY(block != nullptr)) {
            bin.free = bin.free->next;
        } else {
            block = bin.carver.carve(c, Classes::size_of(c), source, owner);
            if (block == nullptr) {
                return nullptr;
            }
        }
        bin.live.add(1);
        return block;
    }

    void put(unsigned c, void *p) {
        auto *const block = static_cast<FreeBlock *>(p);
        Bin &bin = bins_[c];
        block->next = bin.free;
        bin.free = block;
        bin.live.add(-1);
    }

    /// Adds to by_class: the count of live blocks of one heap may be negative where blocks are freed elsewhere, the
    /// sum over all heaps is right.
    void statistics(Statistics &out) const {
        for (unsigned c = 0; c < Classes::count; ++c) {
            const Bin &bin = bins_[c];
            count_class<Classes>(out, c, bin.carver.chunks(), bin.carver.carved(), bin.live.get());
        }
    }

private:
    struct Bin {
        FreeBlock *free = nullptr;
        Tally live;
        ChunkCarver carver;
    };

    Bin bins_[Classes::count];
};

} // namespace cairn::family
