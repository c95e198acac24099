// SPDX-License-Identifier: MIT
//
// ObstackHeap: a stack of objects in chunks, whose last one can grow.
//
// Adds:    a stack of blocks (StackHeap) without a limit: free(p) takes p and all that is younger. clear, owns,
//          memory_used. An object may be built piece by piece: grow, grow_byte, blank, shrink add to and take
//          from the one that grows, finish makes it a block like any other, give_up forgets it.
// Needs:   a heap for chunks of ChunkSize bytes, their front of 16 included, and larger ones for objects that do not fit.
// Keeps:   a finished object never moves; one that grows does when its chunk ends, so its address counts from
//          finish on. One object grows at a time: for another meanwhile take another obstack. A build with
//          assertions stops at a malloc that comes between. Objects are aligned to 16. clear gives all chunks back, and
//          clears the heap below where it can be cleared.
// Threads: one at a time.
// Errors:  nullptr or false when the heap below has nothing; a growing object is then as it was. Freeing an
//          address that is in no chunk stops the program.
// Cost:    a handful of instructions for an object; 16 bytes a chunk and what is left at its end; at most 15
//          bytes an object. owns walks the chunks, and free where p is not in the last one.
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

    /// Not where a chunk ends: another heap's memory may begin there. An object of no bytes may lie there too.
    bool owns(const void *p) const {
        const ObstackChunk *const chunk = Chunks::chunk_of(state_, p);
        return chunk != nullptr && p != chunk->limit &&
               !(address_of(p) >= address_of(state_.next_free) &&
                 address_of(p) <= address_of(state_.chunk_limit));
    }

    /// Room for `size` bytes that nobody has written yet.
    bool blank(std::size_t size) {
        if (!make_room(size)) {
            return false;
        }
        state_.next_free += size;
        return true;
    }

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

    /// Takes the last `size` bytes of the growing object away again.
    void shrink(std::size_t size) { state_.next_free -= size; }
    void give_up() { state_.next_free = state_.object_base; }

    /// The growing object: where it is now, and how long.
    char *growing() const { return state_.object_base; }
    std::size_t grown() const { return static_cast<std::size_t>(state_.next_free - state_.object_base); }

    /// nullptr if the obstack has no memory yet, which only an object of no bytes can meet.
    void *finish() {
        char *const object = state_.object_base;
        state_.maybe_empty_object |= state_.next_free == object;
        const std::size_t padding = (0 - address_of(state_.next_free)) & state_.alignment_mask;
        state_.next_free += std::min(padding, room());
        state_.object_base = state_.next_free;
        return object;
    }

    /// What can be added without another chunk; and that so much can.
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
