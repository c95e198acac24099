// SPDX-License-Identifier: MIT
//
// ObstackChunks: the operations of an obstack that change its chunks: take a new chunk and move the growing object into
// it, free back into an older chunk, free all.
//
// Adds:    functions on a state that the caller keeps: ObstackHeap, or C's `struct obstack`; both use this algorithm.
// Needs:   a State with the members of ObstackState; with each call, a heap that provides the chunks.
// Keeps:   chunks are linked from the youngest to the oldest. When the heap is out of memory the state is unchanged.
//          When the growing object moves and was alone in its chunk, that chunk is freed.
// Threads: one at a time.
// Errors:  false when the heap is out of memory. An address that is in no chunk ends the process.
// Cost:    that of the heap; the growing object is copied. A chunk for an object that grows has room for half its size
//          more, so that an object that grows byte by byte copies each byte a few times only.
// Source:  Heap Layers, section 5.2; the manual of the GNU C library, "Obstacks".
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace cairn {

/// The front of a chunk; objects follow.
struct ObstackChunk {
    char *limit;
    ObstackChunk *prev;
};

/// The growing object is [object_base, next_free); it may grow up to chunk_limit. A new obstack has no chunk.
struct ObstackState {
    std::size_t chunk_size;
    ObstackChunk *chunk = nullptr; ///< the present one
    char *object_base = nullptr;
    char *next_free = nullptr;
    char *chunk_limit = nullptr;
    std::size_t alignment_mask = quantum - 1;
    bool maybe_empty_object = false; ///< an empty object may lie where the growing one starts
};

template <class State>
class ObstackChunks {
    using Chunk = std::remove_pointer_t<decltype(State::chunk)>;

public:
    /// Takes a new chunk with room for `more` bytes behind the growing object, and moves the object into it.
    template <class Below>
    CAIRN_NOINLINE static bool new_chunk(State &state, Below &&below, std::size_t more) {
        const auto grown = static_cast<std::size_t>(state.next_free - state.object_base);
        const std::size_t front = sizeof(Chunk) + state.alignment_mask;
        if (more > PTRDIFF_MAX || grown + grown / 2 > PTRDIFF_MAX - front) {
            return false;
        }
        // Rounded up, so that no aligned address lies right before the end of a chunk: a heap above that puts headers
        // before its blocks would take it for that of a block which begins behind the chunk.
        const std::size_t size =
            align_up(std::max(front + grown + grown / 2 + more, state.chunk_size), quantum);
        auto *const chunk = static_cast<Chunk *>(below.malloc(size));
        if (chunk == nullptr) {
            return false;
        }
        chunk->limit = reinterpret_cast<char *>(chunk) + size;
        chunk->prev = state.chunk;
        char *const base = first_object(state, chunk);
        if (grown != 0) {
            std::memcpy(base, state.object_base, grown);
        }
        if (state.chunk != nullptr && !state.maybe_empty_object &&
            state.object_base == first_object(state, state.chunk)) {
            chunk->prev = state.chunk->prev;
            below.free(state.chunk);
        }
        enter(state, chunk, base);
        state.next_free = base + grown;
        state.maybe_empty_object = false;
        return true;
    }

    /// Frees `object` and all younger objects; the next object is placed where `object` was.
    template <class Below>
    CAIRN_NOINLINE static void free_from(State &state, Below &&below, void *object) {
        Chunk *const home = chunk_of(state, object);
        if (home == nullptr) {
            platform::fatal({"free of ", object, ", which is in no chunk of this obstack"});
        }
        while (state.chunk != home) {
            drop(state, below);
            state.maybe_empty_object = true; // one may lie where the next object starts
        }
        enter(state, home, static_cast<char *>(object));
    }

    /// Frees all objects and all chunks.
    template <class Below>
    CAIRN_NOINLINE static void free_all(State &state, Below &&below) {
        while (state.chunk != nullptr) {
            drop(state, below);
        }
        state.object_base = state.next_free = state.chunk_limit = nullptr;
        state.maybe_empty_object = false;
    }

    /// The chunk that holds `p`, or nullptr. An empty object may lie at the end of its chunk.
    static Chunk *chunk_of(const State &state, const void *p) {
        Chunk *chunk = state.chunk;
        while (chunk != nullptr &&
               !(address_of(p) > address_of(chunk) && address_of(p) <= address_of(chunk->limit))) {
            chunk = chunk->prev;
        }
        return chunk;
    }

    static std::size_t memory_used(const State &state) {
        std::size_t sum = 0;
        for (const Chunk *chunk = state.chunk; chunk != nullptr; chunk = chunk->prev) {
            sum += address_of(chunk->limit) - address_of(chunk);
        }
        return sum;
    }

private:
    static char *first_object(const State &state, Chunk *chunk) {
        char *const start = reinterpret_cast<char *>(chunk + 1);
        return start + (align_up(address_of(start), state.alignment_mask + 1) - address_of(start));
    }

    static void enter(State &state, Chunk *chunk, char *object) {
        state.chunk = chunk;
        state.chunk_limit = chunk->limit;
        state.object_base = state.next_free = object;
    }

    template <class Below>
    static void drop(State &state, Below &&below) {
        Chunk *const chunk = state.chunk;
        state.chunk = chunk->prev;
        below.free(chunk);
    }
};

} // namespace cairn
