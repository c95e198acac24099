// SPDX-License-Identifier: MIT
//
// ChunkSource: where the heaps of one allocator get chunks, long blocks and the memory of the heaps themselves.
//
// Adds:    chunk() and forever() hand memory out for ever; long_block(), which free_long() unmaps.
// Needs:   MmapHeap; Chunk, the header at each multiple of Chunk::bytes that Chunk::of(p) finds, with the members
//          `mapping` and `end` for a long block.
// Keeps:   chunks are cut from regions of 1 MiB, or are mapped alone when there is no room for a region. Destroying
//          the source unmaps everything.
// Threads: any; one lock, held for system calls too.
// Errors:  nullptr.
// Cost:    the lock; a mapping for every long block.
// Source:  Hoard, section 6: of the allocators there that are made of this, none gives memory of small objects back.
#pragma once

#include <cairn/core/statistics.hpp>
#include <cairn/family/class_chunk.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/sync/lock.hpp>

#include <algorithm>

namespace cairn::family {

template <class Chunk>
class ChunkSourceOf {
public:
    constexpr ChunkSourceOf() = default;

    /// A zeroed header, and zeroed room for blocks after it.
    Chunk *chunk() {
        const sync::Guard guard(lock_);
        return reinterpret_cast<Chunk *>(chunk_locked());
    }

    /// Zeroed, on cache lines of its own.
    void *forever(std::size_t size) {
        const sync::Guard guard(lock_);
        const std::size_t wanted = align_up(size, platform::cache_line);
        if (wanted > static_cast<std::size_t>(own_end_ - own_)) {
            char *const fresh = chunk_locked();
            if (fresh == nullptr) {
                return nullptr;
            }
            own_ = fresh;
            own_end_ = fresh + Chunk::bytes;
        }
        own_ += wanted;
        metadata_ += wanted;
        return own_ - wanted;
    }

    /// A zeroed block of `size` bytes at a multiple of `alignment`. Mappings have round lengths, so that neighbours can
    /// be one to the kernel.
    void *long_block(std::size_t alignment, std::size_t size) {
        if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) {
            return nullptr;
        }
        const std::size_t offset = std::max(alignment, sizeof(Chunk));
        const std::size_t length = align_up(offset + std::max<std::size_t>(size, 1), 64_KiB);
        const sync::Guard guard(lock_);
        auto *const start = static_cast<char *>(map_locked(std::max(alignment, Chunk::bytes), length));
        if (start == nullptr) {
            return nullptr;
        }
        Chunk &chunk = Chunk::of(start + offset);
        chunk.mapping = start;
        chunk.end = start + length;
        long_bytes_ += length;
        ++long_blocks_;
        return start + offset;
    }

    void free_long(Chunk &chunk) {
        const sync::Guard guard(lock_);
        const std::size_t length = address_of(chunk.end) - address_of(chunk.mapping);
        long_bytes_ -= length;
        --long_blocks_;
        mapped_ -= length;
        mappings_.free(chunk.mapping);
    }

    void hold_across_fork() { lock_.hold_across_fork(); }
    void let_go_after_fork() { lock_.let_go_after_fork(); }

    void statistics(Statistics &out) const {
        const sync::Guard guard(lock_);
        out.huge_live = long_bytes_;
        out.huge_live_blocks = long_blocks_;
        out.mapped = mapped_;
        out.mapped_peak = peak_;
        out.metadata = metadata_;
    }

private:
    static constexpr std::size_t region_ = 1_MiB;
    static_assert(region_ % Chunk::bytes == 0);

    char *chunk_locked() {
        if (next_ == end_) {
            std::size_t length = region_;
            auto *fresh = static_cast<char *>(map_locked(Chunk::bytes, length));
            if (fresh == nullptr) {
                length = Chunk::bytes;
                fresh = static_cast<char *>(map_locked(Chunk::bytes, length));
            }
            if (fresh == nullptr) {
                return nullptr;
            }
            next_ = fresh;
            end_ = fresh + length;
        }
        next_ += Chunk::bytes;
        return next_ - Chunk::bytes;
    }

    void *map_locked(std::size_t alignment, std::size_t length) {
        void *const start = mappings_.memalign(alignment, length);
        if (start != nullptr) {
            mapped_ += length;
            peak_ = std::max(peak_, mapped_);
        }
        return start;
    }

    mutable sync::Lock lock_{sync::Rank::runs};
    MmapHeap mappings_;
    char *next_ = nullptr; ///< of the region: chunks from here to the end are untouched
    char *end_ = nullptr;
    char *own_ = nullptr; ///< the same of the chunk that forever() hands out
    char *own_end_ = nullptr;
    std::size_t metadata_ = 0;
    std::size_t mapped_ = 0;
    std::size_t peak_ = 0;
    std::size_t long_bytes_ = 0;
    std::size_t long_blocks_ = 0;
};

using ChunkSource = ChunkSourceOf<ClassChunk>;

} // namespace cairn::family
