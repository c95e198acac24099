// SPDX-License-Identifier: MIT
//
// BumpHeap: takes memory in chunks and allocates from a chunk by moving a pointer. A region: all blocks are freed at
// once.
//
// Adds:    small blocks out of large chunks; clear; owns. free does nothing: a layer above reuses blocks.
// Needs:   a heap.
// Keeps:   a request that does not fit into a chunk of ChunkSize gets a chunk of its own, and the current chunk stays
//          in use. malloc(0) takes as much as malloc(1). clear and the destructor give every chunk back; clear also
//          clears the heap below where it can be cleared, because free of the heap below may do nothing.
// Threads: one at a time.
// Errors:  nullptr when the heap below has no memory for a chunk; a smaller request may still fit into the current
//          chunk.
// Cost:    a handful of instructions a block, at most alignment - 1 bytes of padding; 16 bytes a chunk and the unused
//          end of a chunk. owns walks the chunks.
// Source:  Heap Layers, Table 1: ZoneHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super, std::size_t ChunkSize = 64_KiB>
class BumpHeap : private Super {
public:
    using Super::Super;
    static constexpr std::size_t alignment = std::min(alignment_of<Super>, quantum);
    static constexpr bool takes_others = true; ///< free does nothing

    BumpHeap() = default;
    BumpHeap(const BumpHeap &) = delete;
    BumpHeap &operator=(const BumpHeap &) = delete;
    ~BumpHeap() { release(); }

    CAIRN_INLINE void *malloc(std::size_t size) {
        const std::size_t need = align_up(size, alignment);
        // need is 0 for malloc(0) and when align_up() has wrapped. Compilers fold the two tests into one comparison, or
        // leave out the first where they know the size.
        if (CAIRN_UNLIKELY(need == 0 || need > room_)) {
            return malloc_from_new_chunk(size);
        }
        unsigned char *const block = next_;
        next_ += need;
        room_ -= need;
        if (block == nullptr) { // room_ > 0 implies a chunk: layers above need no test for nullptr
            __builtin_unreachable();
        }
        return block;
    }

    void free(void *) {}

    void clear() {
        release();
        next_ = nullptr;
        room_ = 0;
        if constexpr (ClearableHeap<Super>) {
            Super::clear();
        }
    }

    bool owns(const void *p) const {
        for (const Chunk *chunk = chunks_; chunk != nullptr; chunk = chunk->below) {
            if (address_of(p) - address_of(chunk) < chunk->size) {
                return true;
            }
        }
        return false;
    }

private:
    struct Chunk {
        Chunk *below;
        std::size_t size;
    };
    static_assert(alignment >= alignof(Chunk), "chunks must be aligned for their header");
    static constexpr std::size_t header_ = align_up(sizeof(Chunk), alignment);
    static_assert(ChunkSize % alignment == 0,
                  "the size of a chunk is a multiple of the alignment of its blocks");
    static_assert(ChunkSize > 2 * header_, "a chunk holds more than its header");

    void release() {
        while (chunks_ != nullptr) {
            Chunk *const chunk = chunks_;
            chunks_ = chunk->below;
            Super::free(chunk);
        }
    }

    CAIRN_COLD void *malloc_from_new_chunk(std::size_t size) {
        if (size > SIZE_MAX - header_ - alignment) {
            return nullptr;
        }
        if (size == 0) { // the current chunk may have room for a byte
            return malloc(1);
        }
        const std::size_t need = align_up(size, alignment);
        const bool fits = need <= ChunkSize - header_;
        const std::size_t chunk_size = fits ? ChunkSize : header_ + need;
        auto *const chunk = static_cast<Chunk *>(Super::malloc(chunk_size));
        if (chunk == nullptr) {
            return nullptr;
        }
        *chunk = Chunk{chunks_, chunk_size};
        chunks_ = chunk;
        unsigned char *const block = reinterpret_cast<unsigned char *>(chunk) + header_;
        if (fits) {
            next_ = block + need;
            room_ = ChunkSize - header_ - need;
        }
        return block;
    }

    unsigned char *next_ = nullptr;
    std::size_t room_ = 0; ///< bytes from next_ to the end of its chunk
    Chunk *chunks_ = nullptr;
};

template <std::size_t ChunkSize = 64_KiB>
struct Bump {
    template <class Super>
    using on = BumpHeap<Super, ChunkSize>;
};

} // namespace cairn
