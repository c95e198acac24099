// SPDX-License-Identifier: MIT
//
// Bound: the constants of the theorem of docs/bound.md, computed from the allocator that it is about.
//
// Adds:    what each heap may have free and why; how much of a superblock may be free without anybody having been told;
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
    using Maker = typename Allocator::Level::Global::Maker;

    static constexpr std::size_t span_of_class(unsigned c) { return slot_size * Maker::slots_of_class(c); }
    static constexpr unsigned capacity_of_class(unsigned c) {
        return static_cast<unsigned>(span_of_class(c) / Classes::size_of(c));
    }

    /// f.
    static constexpr double fraction = 1.0 * Discipline::numerator / Discipline::denominator;
    /// K S.
    static constexpr std::size_t slack = Discipline::slack;

    // ---- what a heap may have besides its live blocks / (1 - f)

    /// Free and known: K S, or where the superblocks that it allocates from hold it, what a visit leaves them.
    static constexpr std::size_t in_bins = std::max(slack, Discipline::bins_slack);
    /// What it may hold more before it is on the list of those that are visited.
    static constexpr std::size_t unlisted = slack;
    /// The superblock that it took last, until its next slow path.
    static constexpr std::size_t last_taken = span_of_class(Classes::count - 1);
    /// Freed by others and told, until somebody takes it in.
    static constexpr std::size_t told = slack;
    /// Freed by its thread, of others' superblocks, and kept to be given back at once.
    static constexpr std::size_t gathered = Gathering::most_bytes;
    /// Its part of what lies free in the global heap.
    static constexpr std::size_t in_global_heap = slack;
    /// The heap itself.
    static constexpr std::size_t itself = sizeof(typename Allocator::Heap);

    static constexpr double per_heap =
        static_cast<double>(in_bins + unlisted + last_taken + in_global_heap + itself) +
        static_cast<double>(told + gathered) / (1 - fraction);

    // ---- what is no memory yet, and becomes some without growth

    /// For each heap: two superblocks that have blocks to be cut.
    static constexpr std::size_t uncut = 2 * span_of_class(Classes::count - 1);
    /// For all together: what is left of the last huge page that memory grew by.
    static constexpr std::size_t huge_page = HugeSteps::bytes;

    static_assert(Discipline::small_heap <= per_heap, "what has no price is within the bound");

    // ---- what is in proportion

    /// Blocks of a superblock that may be free though it counts them as live: as many freed by its owner, and as many by
    /// others, as stay below the next look.
    static constexpr unsigned untold_by_owner(unsigned c) {
        return Discipline::step_of(capacity_of_class(c)) - 1;
    }
    static constexpr unsigned untold_by_others(unsigned c) {
        return Discipline::remote_step_of(capacity_of_class(c)) - 1;
    }
    static constexpr unsigned untold_blocks(unsigned c) { return untold_by_owner(c) + untold_by_others(c); }
    /// The same as a part of the superblock, at most.
    static constexpr double untold = [] {
        double most = 0;
        for (unsigned c = 0; c < Classes::count; ++c) {
            most = std::max(most, 1.0 * untold_blocks(c) / capacity_of_class(c));
        }
        return most;
    }();

    /// A block's share of its superblock, which it shares with the blocks' equals and a rest too short for one.
    static constexpr double share_of_class(unsigned c) {
        return static_cast<double>(span_of_class(c)) / capacity_of_class(c);
    }
    /// Share by length of the size class, at most.
    static constexpr double share = [] {
        double most = 1;
        for (unsigned c = 0; c < Classes::count; ++c) {
            most = std::max(most, share_of_class(c) / static_cast<double>(Classes::size_of(c)));
        }
        return most;
    }();

    /// The most that superblocks may have, given that at most `live` bytes in shares were live, all of one size class, so many heaps in use,
    /// and `untouched` bytes of superblocks when memory last grew.
    static constexpr double most(double live, double heaps, double untouched) {
        const double touched = live + untold * untouched + (1 - fraction) * heaps * share * per_heap;
        return touched / (1 - fraction - untold) + untouched;
    }
    /// The same of whatever there was.
    static constexpr double most(double live, double heaps) {
        return most(live, heaps, heaps * static_cast<double>(uncut) + static_cast<double>(huge_page));
    }
};

} // namespace cairn
