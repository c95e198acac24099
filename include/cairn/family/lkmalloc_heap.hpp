// SPDX-License-Identifier: MIT
//
// LkmallocHeap: subheaps by thread.
//
// Adds:    malloc, free, getSize, memalign, malloc_zeroed, statistics; the calls around a fork.
// Needs:   a Parameters (allocators/lkmalloc.hpp).
// Keeps:   a thread gets all its blocks from one subheap, and frees those of any. Blocks longer than a stripe holds are
//          mappings of their own. Destroying it unmaps everything, live blocks too.
// Threads: any. Which subheap is a thread's is computed at each call; nothing is kept about threads.
// Errors:  nullptr.
// Cost:    a hash of the thread's id a malloc; two dependent loads to find a free'd block's subheap.
// Source:  LKmalloc, section 6, E (multiple subheaps) and F (selection by hashing).
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/core/statistics.hpp>
#include <cairn/family/lkmalloc_subheap.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/platform/thread_id.hpp>

#include <cstring>

namespace cairn {

template <class P>
class LkmallocHeap {
    using Subheap = lkmalloc::Subheap<P>;
    using Stripes = typename Subheap::Stripes;
    using Owner = typename Subheap::Owner;
    static_assert(P::subheaps >= 1 && P::subheaps < Stripes::long_block, "a subheap's number is a byte");

public:
    static constexpr std::size_t alignment = P::alignment;

    constexpr LkmallocHeap() = default;
    LkmallocHeap(const LkmallocHeap &) = delete;
    LkmallocHeap &operator=(const LkmallocHeap &) = delete;
    ~LkmallocHeap() = default; // what it holds are the stripes', which go with them

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > largest_)) {
            return stripes_.new_long(size, alignment);
        }
        const Owner mine = my_subheap();
        return subheap(mine).malloc(Subheap::block_for(size), stripes_, mine);
    }

    void free(void *p) {
        const Owner owner = stripes_.owner_of(p);
        if (CAIRN_UNLIKELY(owner == Stripes::long_block)) {
            stripes_.return_long(static_cast<char *>(p));
        } else {
            subheap(owner).free(static_cast<char *>(p), stripes_, owner);
        }
    }

    std::size_t getSize(void *p) const {
        return stripes_.owner_of(p) == Stripes::long_block
                   ? Stripes::length_of(p)
                   : Subheap::payload_of(static_cast<const char *>(p));
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (wanted <= alignment) {
            return malloc(size);
        }
        if (wanted > largest_ || size > largest_ ||
            Subheap::block_for(size) + Subheap::room_for(wanted) > Subheap::largest) {
            return stripes_.new_long(size, wanted);
        }
        const Owner mine = my_subheap();
        return subheap(mine).memalign(wanted, Subheap::block_for(size), stripes_, mine);
    }

    void *malloc_zeroed(std::size_t size) {
        void *const p = malloc(size);
        if (p != nullptr && size <= largest_) { // longer ones are fresh from the kernel
            std::memset(p, 0, size);
        }
        return p;
    }

    /// Walks all free lists, each under its lock: no counter is kept that every malloc would have to write.
    void statistics(Statistics &out) {
        for (Subheap &one : subheaps_) {
            one.lists().for_each([&](const char *start, std::size_t size) {
                const auto clean = lkmalloc::Pages<P>::clean_part(const_cast<char *>(start), size);
                const auto bytes = static_cast<std::size_t>(clean.empty() ? 0 : clean.end - clean.begin);
                out.free_clean += bytes;
                out.free_dirty += size - bytes;
            });
            out.superblocks += one.stripes();
            out.heaps += one.stripes() != 0 ? 1 : 0;
            out.purges += one.decommits();
            out.purged += one.decommitted();
        }
        const std::uint64_t small = out.superblocks * Subheap::largest;
        const std::uint64_t free = out.free_clean + out.free_dirty;
        out.small_live = small > free ? small - free : 0; // other threads may have changed it meanwhile
        out.small_resident = small - std::min(small, out.free_clean);
        out.huge_live = stripes_.long_bytes();
        out.huge_live_blocks = stripes_.long_blocks();
        out.mapped = stripes_.mapped();
    }

    /// What a thread of the parent had in its hands stays busy in the child: lost, and nothing else.
    void lock_all() {
        for (Subheap &one : subheaps_) {
            one.lists().lock_all();
        }
    }
    void unlock_all(sync::AfterFork side) {
        for (Subheap &one : subheaps_) {
            one.lists().unlock_all(side);
        }
    }

    /// For who looks at the heap as a whole: f(start of a stripe), f(start, size) for each free block.
    template <class F>
    void for_each_stripe(F f) const {
        stripes_.for_each_stripe([&](const char *stripe, Owner) { f(stripe); });
    }
    template <class F>
    void for_each_free(F f) {
        for (Subheap &one : subheaps_) {
            one.lists().for_each(f);
        }
    }

private:
    static constexpr std::size_t largest_ = Subheap::largest - lkmalloc::tags_bytes; ///< payload

    /// Subheaps count from 1, as their stripes' owners do.
    Subheap &subheap(Owner owner) { return subheaps_[owner - 1]; }

    static Owner my_subheap() {
        return static_cast<Owner>(P::subheaps == 1 ? 1
                                                   : 1 + platform::mix(platform::thread_id()) % P::subheaps);
    }

    Stripes stripes_;
    Subheap subheaps_[P::subheaps];
};

} // namespace cairn
