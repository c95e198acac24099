// SPDX-License-Identifier: MIT
//
// Bound: the constants of the theorem of docs/bound.md, computed from the allocator that it is about.
//
// Adds:    what each heap may have free and why; how much of a superblock may be free and unaccounted;
//          the whole bound as a function of U and P. All in bytes.
// Keeps:   nothing: a page of arithmetic, by which `cairn info` and tests say what is promised.
// Needs:   an owner-routed allocator (allocators/cairn.hpp).
// Source:  Hoard, section 4, Theorem 1.
#pragma once

#include <cairn/thread/owner_routed.hpp>

#include <algorithm>

namespace cairn {

template <class Allocator>
struct Bound {
    using Classes = typename Allocator::SizeClasses;
    using Discipline = typename Allocator::Emptiness;
    using Maker = typename Allocator::Levels::Global::Maker;

    static constexpr std::size_t span_of_class(unsigned c) { return slot_size * Maker::slots_of_class(c); }
    static constexpr unsigned capacity_of_class(unsigned c) {
        return static_cast<unsigned>(span_of_class(c) / Classes::size_of(c));
    }

    /// f.
    static constexpr double fraction = 1.0 * Discipline::numerator / Discipline::denominator;
    /// K S.
    static constexpr std::size_t slack = Discipline::slack;

    // ---- what a heap may have besides its live blocks / (1 - f)

    /// Free and accounted: the slack, or what a visit leaves in the superblocks that the heap allocates from.
    static constexpr std::size_t in_bins = std::max(slack, Discipline::bins_slack);
    /// By how much that may grow before the heap is listed for a visit.
    static constexpr std::size_t unlisted = slack;
    /// The superblock that the heap took last, until its next slow path.
    static constexpr std::size_t last_taken = span_of_class(Classes::count - 1);
    /// Freed by other threads, with a notice in the heap's inbox.
    static constexpr std::size_t pending = slack;
    /// Freed by the heap's thread in other heaps' superblocks, and kept to be given back together.
    static constexpr std::size_t gathered = Gathering::most_bytes;
    /// The heap's part of the free memory of the global heap.
    static constexpr std::size_t in_global_heap = slack;
    /// The heap itself.
    static constexpr std::size_t itself = sizeof(typename Allocator::Heap);

    static constexpr double per_heap =
        static_cast<double>(in_bins + unlisted + last_taken + in_global_heap + itself) +
        static_cast<double>(pending + gathered) / (1 - fraction);

    // ---- what is not in memory yet, and comes to be without growth

    /// For each heap: two superblocks with blocks to be carved yet.
    static constexpr std::size_t uncarved = 2 * span_of_class(Classes::count - 1);
    /// For all heaps together: what is left of the last huge page that memory grew by.
    static constexpr std::size_t huge_page = HugeSteps::bytes;

    static_assert(Discipline::small_heap <= per_heap,
                  "the floor of small processes is within the constant of each heap");

    // ---- what is in proportion

    /// Blocks of a superblock that may be free though its heap accounts for them as live: as many freed by the owner as
    /// come before the next check, and as many freed by others as come before the next notice.
    static constexpr unsigned unaccounted_by_owner(unsigned c) {
        return Discipline::step_of(capacity_of_class(c)) - 1;
    }
    static constexpr unsigned unaccounted_by_others(unsigned c) {
        return Discipline::remote_step_of(capacity_of_class(c)) - 1;
    }
    static constexpr unsigned unaccounted_blocks(unsigned c) {
        return unaccounted_by_owner(c) + unaccounted_by_others(c);
    }
    /// Of any superblock, at most, as a fraction.
    static constexpr double unaccounted = [] {
        double most = 0;
        for (unsigned c = 0; c < Classes::count; ++c) {
            most = std::max(most, 1.0 * unaccounted_blocks(c) / capacity_of_class(c));
        }
        return most;
    }();

    /// Bytes of the superblock for each of its blocks: the block, and its part of the rest behind the last one.
    static constexpr double span_per_block(unsigned c) {
        return static_cast<double>(span_of_class(c)) / capacity_of_class(c);
    }
    /// That by the length of the size class, at most: r in docs/bound.md.
    static constexpr double span_ratio = [] {
        double most = 1;
        for (unsigned c = 0; c < Classes::count; ++c) {
            most = std::max(most, span_per_block(c) / static_cast<double>(Classes::size_of(c)));
        }
        return most;
    }();

    /// The most that superblocks may have taken: at most `live` bytes (span_per_block for each block) were live, all of
    /// one size class, `heaps` were in use, and superblocks had `untouched` bytes when memory last grew.
    static constexpr double most(double live, double heaps, double untouched) {
        const double touched =
            live + unaccounted * untouched + (1 - fraction) * heaps * span_ratio * per_heap;
        return touched / (1 - fraction - unaccounted) + untouched;
    }
    /// The same for any amount of untouched memory.
    static constexpr double most(double live, double heaps) {
        return most(live, heaps, heaps * static_cast<double>(uncarved) + static_cast<double>(huge_page));
    }
};

} // namespace cairn
