// SPDX-License-Identifier: MIT
//
// ObstackHeap: a stack of objects in chunks. The youngest object can grow.
//
// Adds:    a stack of blocks (StackHeap) without a limit: free(p) frees p and all younger objects. clear, owns,
//          memory_used. An object may be built piece by piece: grow, grow_byte and blank add to the growing object,
//          shrink takes from it, finish makes it a block like any other, give_up drops it.
// Needs:   a heap, for chunks of ChunkSize bytes, including a front of 16, and for longer chunks for objects that do
//          not fit.
// Keeps:   a finished object never moves; the growing object moves when its chunk is full, so its address is final only
//          after finish. One object grows at a time; a second one needs a second obstack. In a build with assertions a
//          malloc while an object grows ends the process. Objects are aligned to 16. clear gives all chunks back, and
//          clears the heap below where it can be cleared.
// Threads: one at a time.
// Errors:  nullptr or false when the heap below is out of memory; the growing object is then unchanged. free of an
//          address that is in no chunk ends the process.
// Cost:    a handful of instructions for an object; 16 bytes a chunk and the unused end of a chunk; at most 15 bytes an
//          object. owns walks the chunks, and so does free where p is not in the last chunk.
// Source:  Heap Layers, section 5.2: ObstackHeap, after the obstacks of the GNU C library.
#pragma once

#include <cairn/layer/obstack_chunks.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super, std::size_t ChunkSize = 4_KiB>
class ObstackHeap : private Super {
    using Chunks = ObstackChunks<ObstackState>;
    static_assert(ChunkSize > sizeof(ObstackChunk), "a chunk holds more than its front");

public:
    using Super::Super;
    struct StackOrder;
    static constexpr std::size_t alignment = quantum;

    constexpr ObstackHeap() = default;
    ObstackHeap(const ObstackHeap &) = delete;
    ObstackHeap &operator=(const ObstackHeap &) = delete;
    ~ObstackHeap() { release(); }

    void *malloc(std::size_t size) {
        if constexpr (platform::checked) {
            if (grown() != 0) {
                const void *const object = state_.object_base;
                platform::fatal({"malloc from an obstack while its object at ", object, " grows"});
            }
        }
        return blank(size) ? finish() : nullptr;
    }

    void free(void *p) {
        if (CAIRN_LIKELY(address_of(p) > address_of(state_.chunk) &&
                         address_of(p) <= address_of(state_.chunk_limit))) {
            state_.object_base = state_.next_free = static_cast<char *>(p);
        } else {
            Chunks::free_from(state_, below(), p);
        }
    }

    void clear() {
        release();
        if constexpr (ClearableHeap<Super>) {
            Super::clear();
        }
    }

    /// Whether p is in an object. False at the end of a chunk, where an empty object may lie: memory of another heap
    /// may begin at that address.
    bool owns(const void *p) const {
        const ObstackChunk *const chunk = Chunks::chunk_of(state_, p);
        return chunk != nullptr && p != chunk->limit &&
               !(address_of(p) >= address_of(state_.next_free) &&
                 address_of(p) <= address_of(state_.chunk_limit));
    }

    /// Adds `size` uninitialised bytes to the growing object.
    bool blank(std::size_t size) {
        if (!make_room(size)) {
            return false;
        }
        state_.next_free += size;
        return true;
    }

    /// Adds a copy of `size` bytes to the growing object.
    bool grow(const void *bytes, std::size_t size) {
        if (!make_room(size)) {
            return false;
        }
        if (size != 0) {
            std::memcpy(state_.next_free, bytes, size);
        }
        state_.next_free += size;
        return true;
    }

    bool grow_byte(char byte) {
        if (!make_room(1)) {
            return false;
        }
        *state_.next_free++ = byte;
        return true;
    }

    /// Removes the last `size` bytes of the growing object.
    void shrink(std::size_t size) { state_.next_free -= size; }
    /// Drops the growing object.
    void give_up() { state_.next_free = state_.object_base; }

    /// The growing object: its present address and its length.
    char *growing() const { return state_.object_base; }
    std::size_t grown() const { return static_cast<std::size_t>(state_.next_free - state_.object_base); }

    /// Ends the growing object and returns its address: nullptr for an empty object while the obstack has no chunk.
    void *finish() {
        char *const object = state_.object_base;
        state_.maybe_empty_object |= state_.next_free == object;
        const std::size_t padding = (0 - address_of(state_.next_free)) & state_.alignment_mask;
        state_.next_free += std::min(padding, room());
        state_.object_base = state_.next_free;
        return object;
    }

    /// room(): how much can be added without another chunk. make_room(): takes another chunk if the room is less than
    /// `size`; false when the heap below is out of memory.
    std::size_t room() const { return static_cast<std::size_t>(state_.chunk_limit - state_.next_free); }
    bool make_room(std::size_t size) {
        return CAIRN_LIKELY(size <= room()) || Chunks::new_chunk(state_, below(), size);
    }

    /// Bytes taken from the heap below.
    std::size_t memory_used() const { return Chunks::memory_used(state_); }

private:
    Super &below() { return *this; }
    void release() { Chunks::free_all(state_, below()); }

    ObstackState state_{ChunkSize};
};

template <std::size_t ChunkSize = 4_KiB>
struct Obstack {
    template <class Super>
    using on = ObstackHeap<Super, ChunkSize>;
};

} // namespace cairn
