// SPDX-License-Identifier: MIT
//
// ArenaHeap: a serial heap many times, in arenas; a thread allocates from one that is not in use, a block goes back to
// its own.
//
// Adds:    threads; malloc, free, getSize, memalign, reallocate, malloc_zeroed, statistics, the locks around a fork.
// Needs:   P::ArenaHeap, a heap on a StretchSource that has memalign and reallocate; P::ArenaLock; P::large_from.
// Keeps:   an arena's blocks lie in its own stretches, which name it. Requests from large_from on have mappings.
// Threads: any.
// Errors:  nullptr.
// Cost:    the choice of an arena, the arena's lock, the heap's own.
// Source:  LKmalloc, section 7, item 5 (Ptmalloc); Hoard, section 6.1.
#pragma once

#include <cairn/family/arenas.hpp>
#include <cairn/family/chunk_source.hpp>
#include <cairn/family/stretch_source.hpp>
#include <cairn/family/tally.hpp>
#include <cairn/layer/move_block.hpp>
#include <cairn/sync/across_fork.hpp>

#include <cstring>

namespace cairn::family {

template <class P>
class ArenaHeap {
    using Inner = typename P::ArenaHeap;
    static_assert(SizedHeap<Inner> && AlignedHeap<Inner> && ReallocatingHeap<Inner>);
    static_assert(2 * P::large_from <= StretchSource::largest);

public:
    void *malloc(std::size_t size) {
        return from_arena(size, size, quantum, [&](Inner &inner) { return inner.malloc(size); });
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        const std::size_t sum =
            wanted < P::large_from && size < P::large_from ? size + wanted : P::large_from;
        return from_arena(sum, size, wanted, [&](Inner &inner) { return inner.memalign(wanted, size); });
    }

    void free(void *p) {
        Stretch &stretch = Stretch::of(p);
        if (stretch.is_long()) {
            source_.free_long(stretch);
            return;
        }
        Arena &arena = owner_of(stretch);
        const sync::Guard guard(arena.lock);
        arena.live.add(-size_of(arena, p));
        arena.heap.free(p);
    }

    /// The owner's lock: a tag also says whether the block before is free.
    static std::size_t getSize(void *p) {
        Stretch &stretch = Stretch::of(p);
        if (stretch.is_long()) {
            return address_of(stretch.end) - address_of(p);
        }
        Arena &arena = owner_of(stretch);
        const sync::Guard guard(arena.lock);
        return arena.heap.getSize(p);
    }

    void *reallocate(void *p, std::size_t size) {
        const std::size_t room = getSize(p);
        Stretch &stretch = Stretch::of(p);
        if (stretch.is_long()) {
            if (size <= room && size >= room / 2) {
                return p;
            }
        } else if (size < P::large_from) {
            Arena &arena = owner_of(stretch);
            const sync::Guard guard(arena.lock);
            if (void *const same_arena = arena.heap.reallocate(p, size); same_arena != nullptr) {
                arena.live.add(-static_cast<std::int64_t>(room));
                arena.note(same_arena);
                return same_arena;
            }
        }
        return move_block(*this, p, room, size);
    }

    void *malloc_zeroed(std::size_t size) {
        void *const block = malloc(size);
        return block == nullptr || Stretch::of(block).is_long() ? block : std::memset(block, 0, size);
    }

    void statistics(Statistics &out) const {
        out = {};
        source_.statistics(out);
        arenas_.for_each([&](const Arena &arena) {
            ++out.heaps;
            out.small_live += arena.live.get();
            out.small_resident += arena.touched.get();
            out.mapped += arena.stretches.get() * Stretch::bytes;
            out.mapped_peak += arena.stretches.get() * Stretch::bytes; // arenas do not shrink
        });
        out.heaps_peak = out.heaps;
    }

    void lock_all() {
        arenas_.hold_across_fork();
        source_.hold_across_fork();
    }
    void unlock_all(sync::AfterFork) {
        source_.let_go_after_fork();
        arenas_.let_go_after_fork();
    }

private:
    struct alignas(platform::cache_line) Arena {
        typename P::ArenaLock lock;
        Inner heap;
        std::atomic<Arena *> next{nullptr};
        Tally live;
        Tally touched; ///< bytes of stretches up to the last block that there ever was
        Tally stretches;

        /// A block is about to be handed out: its stretch knows this arena from now on.
        void note(void *p) {
            Stretch &stretch = Stretch::of(p);
            if (CAIRN_UNLIKELY(stretch.owner != this)) {
                stretch.owner = this;
                stretches.add(1);
            }
            const std::int64_t size = size_of(*this, p);
            const std::size_t end = address_of(p) + static_cast<std::size_t>(size) - address_of(&stretch);
            if (end > stretch.used) {
                touched.add(static_cast<std::int64_t>(end - stretch.used));
                stretch.used = end;
            }
            live.add(size);
        }
    };

    static std::int64_t size_of(Arena &arena, void *p) {
        return static_cast<std::int64_t>(arena.heap.getSize(p));
    }

    static Arena &owner_of(Stretch &stretch) {
        if constexpr (platform::checked) {
            if (stretch.owner == nullptr) {
                platform::fatal({"no arena has blocks at ", static_cast<const void *>(&stretch)});
            }
        }
        return *static_cast<Arena *>(stretch.owner);
    }

    /// `sum` is what an arena would need. A mapping is also what is left when an arena has no memory.
    template <class F>
    void *from_arena(std::size_t sum, std::size_t size, std::size_t alignment, F ask) {
        if (CAIRN_LIKELY(sum < P::large_from)) {
            Arena &arena = arenas_.choose(source_);
            void *const p = ask(arena.heap);
            if (CAIRN_LIKELY(p != nullptr)) {
                arena.note(p);
            }
            arena.lock.unlock();
            if (CAIRN_LIKELY(p != nullptr)) {
                return p;
            }
        }
        return source_.long_block(std::max(alignment, quantum), size);
    }

    ChunkSourceOf<Stretch> source_; // outlives the arenas, whose memory it is
    Arenas<Arena> arenas_;
};

} // namespace cairn::family
