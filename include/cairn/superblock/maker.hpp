// SPDX-License-Identifier: MIT
//
// Superblock maker: makes runs into superblocks of a size class, each with a cookie of its own.
//
// Adds:    make (from a free run) and format (of a superblock without live blocks, for another class).
// Needs:   RunHeap below.
// Keeps:   blocks of up to Classes::table_limit are in superblocks of one slot. Longer blocks are in superblocks of a
//          power of two of slots, aligned to their length.
// Threads: any; format: a thread that has exclusive access to the superblock.
// Errors:  nullptr when out of memory.
// Cost:    the lock of a stripe of runs; where memory grows, the run heap's.
#pragma once

#include <cairn/platform/random.hpp>
#include <cairn/run/run_heap.hpp>
#include <cairn/superblock/carving.hpp>

#include <algorithm>
#include <bit>

namespace cairn {

template <class Classes>
class SuperblockMaker {
public:
    explicit constexpr SuperblockMaker(RunHeap &runs) : runs_(runs) {}

    /// The least number of blocks of a superblock, so that a nearly empty superblock holds little memory.
    static constexpr unsigned least_blocks = 8;

    static constexpr unsigned slots_of_class(unsigned c) {
        return static_cast<unsigned>(std::bit_ceil(ceil_div(Classes::size_of(c) * least_blocks, slot_size)));
    }
    static_assert(Classes::table_limit * least_blocks <= slot_size);

    /// The last class whose superblocks have that many slots, a power of two.
    static constexpr unsigned last_class_of(unsigned slots) {
        unsigned c = Classes::count - 1;
        while (slots_of_class(c) > slots) {
            --c;
        }
        return c;
    }
    static constexpr std::size_t span_of_class(unsigned c) { return slots_of_class(c) * slot_size; }

    /// Bytes before the first block of a superblock at `slot`: some cache lines of the tail that is too short for a
    /// block (cache colouring). Long blocks have lengths near a multiple of a page or of a large part of one. Without
    /// this shift the first blocks of all superblocks would begin in a few sets of the cache.
    static constexpr std::size_t shift_of(unsigned c, unsigned slot) {
        const std::size_t left = std::min(span_of_class(c) % Classes::size_of(c), platform::smallest_page);
        return Classes::is_natural(c) ? 0 : spread_at(slot, left / platform::cache_line);
    }

    /// A superblock of the class for `heap`, without any carved block; nullptr when out of memory.
    OwnerLine *make(unsigned size_class, unsigned heap) {
        const unsigned slots = slots_of_class(size_class);
        const Run run = runs_.allocate(slots, slots, RunHeap::Touched::later, RunHeap::home_of(heap));
        if (run.first == nullptr) {
            return nullptr;
        }
        format(run.first, size_class, heap, run.clean ? 0 : static_cast<std::uint32_t>(span_of(run.first)));
        made_.fetch_add(1, std::memory_order_relaxed); // relaxed: a counter
        return run.first;
    }

    /// Bytes of free dirty memory. A hint: other threads take runs too.
    std::size_t used_memory() const { return runs_.dirty_bytes(); }

    /// touch: `bytes` of superblocks were touched for the first time; returns by how much resident memory is now
    /// above its recent peak. pay: gives dirty memory back, beyond what may stay free. price: how much that would be,
    /// if `taken` bytes are new and `lies_free` bytes are free.
    std::size_t touch(std::size_t bytes) { return runs_.touch(bytes); }
    void pay() { runs_.pay(kept); }
    RunHeap &runs() { return runs_; }
    static constexpr RunsKept kept = PurgingRuns::beside_superblocks;
    std::size_t price(std::size_t taken, std::size_t lies_free) {
        return kept.price(taken, lies_free, runs_.resident_bytes());
    }

    /// Whether a superblock of the class would be growth if it was made of fresh memory.
    bool would_grow(unsigned c) { return runs_.would_grow(span_of_class(c)); }

    /// Whether there is a dirty run for a superblock of the class.
    bool has_used_run(unsigned c) { return runs_.has_dirty(slots_of_class(c), slots_of_class(c)); }

    /// Makes the run at `s` a superblock of the class for `heap`. `touched`: bytes from the start that were touched.
    void format(OwnerLine *s, unsigned size_class, unsigned heap, std::uint32_t touched) {
        Segment *const segment = Segment::of(s);
        const unsigned slot = segment->slot_of(s);
        // relaxed, all: the secret is set before a second thread exists, and a draw only has to differ from every
        // other draw.
        const std::uint64_t random = platform::draw(
            {secret_.load(std::memory_order_relaxed), lineage_.load(std::memory_order_relaxed)},
            draws_.fetch_add(1, std::memory_order_relaxed));
        superblock::format(s, size_class, Classes::size_of(size_class), shift_of(size_class, slot), random,
                           touched);
        // relaxed, kinds too: no thread has a block of the superblock yet; a thread that gets one has these stores in
        // the pointer's history.
        remote_of(s)->word.store(RemoteWord::owned_by(heap), std::memory_order_relaxed);
        s->freed_by_others.store(false, std::memory_order_relaxed);
        shared_of(s)->freed_by_others.store(false, std::memory_order_relaxed);
        segment->set_kinds(slot + 1, s->slots - 1u, SlotKind::tail);
        segment->set_kinds(slot, 1, SlotKind::superblock);
    }

    /// The run of a superblock without live blocks becomes free.
    void release_run(OwnerLine *s) { runs_.release(s, /*clean=*/false, span_of(s) - s->touched); }

    /// The run of a superblock without live blocks becomes free, and what was touched of it goes back to the
    /// operating system.
    void purge(OwnerLine *s) {
        // The child of a fork that comes before the run is free finds no block, and asks for no signatures that are
        // gone.
        s->carved = 0;
        shared_of(s)->marked = 0;
        std::atomic_signal_fence(std::memory_order_release);
        const std::size_t touched = align_up(s->touched, platform::vm::page_size());
        const bool gone =
            touched == 0 || platform::vm::purge(reinterpret_cast<void *>(memory_of(s)), touched);
        if (gone && touched != 0) {
            runs_.gave_back(touched);
        }
        runs_.release(s, gone, span_of(s) - s->touched);
    }

    /// The secret from which the superblocks' cookies are drawn.
    void seed(std::uint64_t secret) { secret_.store(secret, std::memory_order_relaxed); }
    /// In the child of a fork, which has its parent's secret: from here on it draws other numbers than its parent and
    /// siblings.
    void descend(std::uint64_t process) {
        lineage_.store(platform::mix(lineage_.load(std::memory_order_relaxed) ^ process),
                       std::memory_order_relaxed);
    }
    /// How many superblocks were made of runs.
    std::size_t made() const { return made_.load(std::memory_order_relaxed); }

private:
    RunHeap &runs_;
    std::atomic<std::uint64_t> secret_{0};
    std::atomic<std::uint64_t> lineage_{0}; ///< mixed from the forks that led to this process
    /// On another line pair than runs_, which slow paths read.
    alignas(platform::line_pair) std::atomic<std::size_t> made_{0};
    std::atomic<std::uint64_t> draws_{0};
};

} // namespace cairn
