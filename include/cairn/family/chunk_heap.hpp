// SPDX-License-Identifier: MIT
//
// ChunkHeap: what the private heaps of Hoard's taxonomy have in common, so that they differ in their discipline only.
//
// Adds:    malloc, free, getSize, memalign, malloc_zeroed, statistics and the locks around a fork, over a Discipline
//          that takes and puts blocks of a class.
// Needs:   Discipline: take(c, source) -> block or nullptr; put(chunk, block, source); statistics(out);
//          hold_across_fork(), let_go_after_fork(). Classes whose largest leaves room in a chunk for three.
// Keeps:   requests above the largest class have mappings of their own, whatever the discipline.
// Threads: any.
// Errors:  nullptr.
// Cost:    class_of; on free a mask, a load and a multiplication; the discipline's.
// Source:  Hoard, section 6.1, Table 7. The sizes of chunks and classes are ours.
#pragma once

#include <cairn/family/chunk_bins.hpp>
#include <cairn/sync/across_fork.hpp>

#include <cstring>

namespace cairn::family {

template <SizeClasses Classes, class Discipline>
class ChunkHeap {
public:
    void *malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= Classes::largest) ? discipline_.take(Classes::class_of(size), source_)
                                                      : source_.long_block(quantum, size);
    }

    void free(void *p) {
        ClassChunk &chunk = ClassChunk::of(p);
        if (CAIRN_UNLIKELY(chunk.is_long())) {
            source_.free_long(chunk);
        } else {
            discipline_.put(chunk, chunk.block_of(p), source_);
        }
    }

    static std::size_t getSize(void *p) { return ClassChunk::of(p).size_from(p); }

    /// An aligned address in a block that is long enough to have one.
    void *memalign(std::size_t wanted, std::size_t size) {
        if (wanted <= quantum) {
            return malloc(wanted > size ? wanted : size);
        }
        if (size > Classes::largest || wanted > Classes::largest - size) {
            return source_.long_block(wanted, size);
        }
        void *const block = discipline_.take(Classes::class_of(size + wanted), source_);
        return block == nullptr
                   ? nullptr
                   : static_cast<char *>(block) + (align_up(address_of(block), wanted) - address_of(block));
    }

    void *malloc_zeroed(std::size_t size) {
        void *const block = malloc(size);
        const bool fresh = size > Classes::largest;
        return block == nullptr || fresh ? block : std::memset(block, 0, size);
    }

    void statistics(Statistics &out) const {
        out = {};
        source_.statistics(out);
        discipline_.statistics(out);
    }

    void lock_all() {
        discipline_.hold_across_fork();
        source_.hold_across_fork();
    }
    void unlock_all(sync::AfterFork) {
        source_.let_go_after_fork();
        discipline_.let_go_after_fork();
    }

private:
    static_assert(ClassChunk::capacity(Classes::largest) >= 3);

    ChunkSource source_;
    Discipline discipline_;
};

} // namespace cairn::family
