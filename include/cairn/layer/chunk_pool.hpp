// SPDX-License-Identifier: MIT
//
// ChunkPoolHeap: chunks of one size, carved from slabs. A slab goes back to the heap below when all its chunks are
// free.
//
// Adds:    cheap chunks of ChunkSize bytes, for layers above that take memory in such steps (BumpHeap, obstacks,
//          superblocks), or for objects of one size. getSize, owns, clear.
// Needs:   a heap with memalign: a slab lies at a multiple of its size, so the address of a chunk gives its slab.
// Keeps:   in the list, slabs with a free chunk come before those without. At most one slab is wholly free: the next
//          slab that becomes wholly free goes back. Fresh memory stays untouched as long as possible: a freed chunk is
//          reused before the next chunk is carved. clear gives all slabs back, and clears the heap below where it can
//          be cleared.
// Threads: one at a time.
// Errors:  nullptr for more than ChunkSize bytes, and when the heap below has no memory for a slab.
// Cost:    some ten instructions each way; a header of 64 bytes a slab and the unused end of a slab. owns walks the
//          slabs.
// Source:  Heap Layers, Table 1: ChunkHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>

namespace cairn {

template <AlignedHeap Super, std::size_t ChunkSize, std::size_t SlabSize = 64_KiB>
class ChunkPoolHeap : private Super {
    static_assert(ChunkSize > 0 && ChunkSize % alignof(void *) == 0,
                  "a chunk's size is a multiple of a pointer's");

    struct Link {
        Link *next;
        Link *prev;
    };
    struct FreeChunk {
        FreeChunk *next;
    };
    struct Slab : Link {
        FreeChunk *free;
        unsigned char *uncarved; ///< chunks from here on were never allocated
        std::size_t live;
    };

public:
    using Super::Super;
    /// The largest power of two that divides ChunkSize, at most a cache line.
    static constexpr std::size_t alignment = std::min(ChunkSize & (0 - ChunkSize), platform::cache_line);
    static constexpr std::size_t chunks_per_slab =
        (SlabSize - platform::cache_line) / std::max<std::size_t>(ChunkSize, 1);

    static_assert(sizeof(Slab) <= platform::cache_line);
    static_assert(is_power_of_two(SlabSize) && SlabSize > 2 * platform::cache_line && chunks_per_slab > 1,
                  "a slab holds more than one chunk");

    constexpr ChunkPoolHeap() = default;
    ChunkPoolHeap(const ChunkPoolHeap &) = delete;
    ChunkPoolHeap &operator=(const ChunkPoolHeap &) = delete;
    ~ChunkPoolHeap() { release(); }

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > ChunkSize)) {
            return nullptr;
        }
        Link *first = ring_.next;
        if (CAIRN_UNLIKELY(!has_room(first))) {
            first = new_slab();
            if (first == nullptr) {
                return nullptr;
            }
        }
        auto *const slab = static_cast<Slab *>(first);
        if (++slab->live == chunks_per_slab) {
            unlink(slab);
            link(slab, ring_.prev);
        }
        if (slab->free != nullptr) {
            FreeChunk *const chunk = slab->free;
            slab->free = chunk->next;
            return chunk;
        }
        void *const chunk = slab->uncarved;
        slab->uncarved += ChunkSize;
        return chunk;
    }

    void free(void *p) {
        Slab *const slab = slab_of(p);
        auto *const chunk = static_cast<FreeChunk *>(p);
        chunk->next = slab->free;
        slab->free = chunk;
        if (slab->live-- == chunks_per_slab) {
            unlink(slab);
            link(slab, &ring_);
        }
        if (CAIRN_UNLIKELY(slab->live == 0) && has_room(ring_.next == slab ? slab->next : ring_.next)) {
            unlink(slab);
            Super::free(slab);
        }
    }

    static std::size_t getSize(void *) { return ChunkSize; }

    bool owns(const void *p) const {
        const Link *slab = ring_.next;
        while (slab != &ring_ && slab != slab_of(p)) {
            slab = slab->next;
        }
        return slab != &ring_;
    }

    void clear() {
        release();
        if constexpr (ClearableHeap<Super>) {
            Super::clear();
        }
    }

private:
    static Slab *slab_of(const void *p) {
        return reinterpret_cast<Slab *>(align_down(address_of(p), SlabSize));
    }

    void release() {
        while (ring_.next != &ring_) {
            auto *const slab = static_cast<Slab *>(ring_.next);
            unlink(slab);
            Super::free(slab);
        }
    }

    bool has_room(const Link *slab) const {
        return slab != &ring_ && static_cast<const Slab *>(slab)->live < chunks_per_slab;
    }

    CAIRN_COLD Slab *new_slab() {
        auto *const slab = static_cast<Slab *>(Super::memalign(SlabSize, SlabSize));
        if (slab != nullptr) {
            slab->free = nullptr;
            slab->uncarved = reinterpret_cast<unsigned char *>(slab) + platform::cache_line;
            slab->live = 0;
            link(slab, &ring_);
        }
        return slab;
    }

    static void link(Link *slab, Link *after) {
        slab->next = after->next;
        slab->prev = after;
        after->next->prev = slab;
        after->next = slab;
    }
    static void unlink(Link *slab) {
        slab->prev->next = slab->next;
        slab->next->prev = slab->prev;
    }

    Link ring_{&ring_, &ring_}; ///< slabs with room, then those without
};

template <std::size_t ChunkSize, std::size_t SlabSize = 64_KiB>
struct ChunkPool {
    template <class Super>
    using on = ChunkPoolHeap<Super, ChunkSize, SlabSize>;
};

} // namespace cairn
