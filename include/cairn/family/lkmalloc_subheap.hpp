// SPDX-License-Identifier: MIT
//
// Subheap: a complete heap with free lists and an arena of stripes of its own.
//
// Adds:    blocks, also aligned ones; splitting; coalescing at once, in constant time; growth and shrinking by stripes.
// Needs:   Mappings to get stripes from; a Parameters (allocators/lkmalloc.hpp).
// Keeps:   a block that is on no list is owned by one thread, or is the program's, and only its owner changes it. When
//          no thread is inside, no two neighbours are free.
// Threads: any. Locks are those of the lists alone. So two threads that both find all lists empty both get a stripe.
// Errors:  nullptr.
// Cost:    a lock to take a block, another with a fence to put back what was too long; to free one, a lock and a fence,
//          and a lock for each free neighbour.
// Source:  LKmalloc, section 6, B to E and G.
#pragma once

#include <cairn/family/lkmalloc_free_lists.hpp>
#include <cairn/family/lkmalloc_mappings.hpp>
#include <cairn/family/lkmalloc_pages.hpp>

namespace cairn::lkmalloc {

template <class P>
class Subheap {
public:
    using Stripes = Mappings<P::stripe>;
    using Owner = typename Stripes::Owner;

    /// A stripe's first block starts behind its first tag, and the last one ends at the stripe's end, whose last tag
    /// reads as the header of one more.
    static constexpr std::size_t first_block = P::alignment;
    static constexpr std::size_t largest = P::stripe - first_block;
    static constexpr std::size_t smallest = align_up(smallest_payload + tags_bytes, P::alignment);
    static_assert(P::alignment >= tags_bytes && largest < (std::size_t{1} << 32));

    constexpr Subheap() = default;

    /// The size of a block for `bytes` bytes of payload. bytes <= largest - tags_bytes.
    static constexpr std::size_t block_for(std::size_t bytes) {
        return std::max(smallest, align_up(bytes + tags_bytes, P::alignment));
    }

    /// size <= largest, a multiple of P::alignment.
    char *malloc(std::size_t size, Stripes &stripes, Owner self) {
        char *const start = take_or_grow(size, stripes, self);
        return start != nullptr ? cut(start, start, size, stripes, self) : nullptr;
    }

    /// alignment > P::alignment. size + room_for(alignment) <= largest.
    char *memalign(std::size_t alignment, std::size_t size, Stripes &stripes, Owner self) {
        char *const start = take_or_grow(size + room_for(alignment), stripes, self);
        if (start == nullptr) {
            return nullptr;
        }
        const std::uintptr_t at = address_of(start);
        const std::size_t skipped = is_aligned(at, alignment) ? 0 : align_up(at + smallest, alignment) - at;
        return cut(start, start + skipped, size, stripes, self);
    }
    static constexpr std::size_t room_for(std::size_t alignment) {
        return smallest + alignment - P::alignment;
    }

    void free(char *p, Stripes &stripes, Owner self) {
        const Tag tag = header_of(p);
        if constexpr (platform::checked) {
            if (tag.state() != State::busy || tag.size() < smallest || footer_before(p + tag.size()) != tag) {
                platform::fatal({"free of ", p, ", which is not a live block, or was written past its end"});
            }
        }
        release(dirty_block(p, tag.size()), stripes, self);
    }

    static std::size_t payload_of(const char *p) { return header_of(p).size() - tags_bytes; }

    FreeLists<P> &lists() { return lists_; }
    std::size_t stripes() const { return stripes_.load(std::memory_order_relaxed); } ///< count
    std::size_t decommits() const { return decommits_.load(std::memory_order_relaxed); }
    std::size_t decommitted() const { return decommitted_.load(std::memory_order_relaxed); } ///< bytes, ever

private:
    /// A block that is the caller's, tags still as they were when it was free.
    char *take_or_grow(std::size_t size, Stripes &stripes, Owner self) {
        char *const start = lists_.take(size);
        return CAIRN_LIKELY(start != nullptr) ? start : grow(stripes, self);
    }

    /// "An arena grows and shrinks one stripe at a time" (section 6, E).
    CAIRN_COLD char *grow(Stripes &stripes, Owner self) {
        char *const stripe = stripes.new_stripe(self);
        if (stripe == nullptr) {
            return nullptr;
        }
        stripes_.fetch_add(1, std::memory_order_relaxed); // a counter
        set_tags(stripe + first_block, Tag(largest, State::busy));
        return stripe + first_block;
    }

    /// Makes [p, p + size) of the block at start a block and releases what is before and behind it. Its tags come
    /// first: as soon as a piece is on a list, its next owner looks at them.
    char *cut(char *start, char *p, std::size_t size, Stripes &stripes, Owner self) {
        const std::size_t whole = header_of(start).size();
        char *const end = start + whole;
        const auto rest = static_cast<std::size_t>(end - p) - size;
        const std::size_t taken = rest >= smallest ? size : size + rest;
        set_tags(p, Tag(taken, State::busy));
        if (p != start) {
            release(Pages<P>::front_of(start, static_cast<std::size_t>(p - start), whole), stripes, self);
        }
        if (rest >= smallest) {
            release(Pages<P>::back_of(p + size, rest, start), stripes, self);
        }
        return p;
    }

    /// Joins an owned block with what is free beside it, and makes it free.
    void release(Block block, Stripes &stripes, Owner self) {
        do {
            join(block);
            if (block.size == largest && shrink(block.start - first_block, stripes, self)) {
                return;
            }
            if (const std::size_t bytes = Pages<P>::decommit(block); bytes != 0) {
                decommits_.fetch_add(1, std::memory_order_relaxed); // counters
                decommitted_.fetch_add(bytes, std::memory_order_relaxed);
            }
        } while (CAIRN_UNLIKELY(!lists_.put(block)));
    }

    void join(Block &block) {
        for (;;) {
            if (const std::size_t size = lists_.take_before(block.start); size != 0) {
                Pages<P>::join_before(block, size);
            } else if (const std::size_t behind = lists_.take_at(block.end()); behind != 0) {
                Pages<P>::join_behind(block, behind);
            } else {
                return;
            }
        }
    }

    /// The last ones stay: a program that needs one block again and again does not need a stripe each time.
    bool shrink(char *stripe, Stripes &stripes, Owner self) {
        std::size_t have =
            stripes_.load(std::memory_order_relaxed); // a counter: of several, one takes the last step
        do {
            if (have <= P::kept_stripes) {
                return false;
            }
        } while (!stripes_.compare_exchange_weak(have, have - 1, std::memory_order_relaxed));
        const bool returned = stripes.return_stripe(stripe, self);
        if (!returned) {
            stripes_.fetch_add(1, std::memory_order_relaxed);
        }
        return returned;
    }

    FreeLists<P> lists_;
    std::atomic<std::size_t> stripes_{0};
    std::atomic<std::size_t> decommits_{0};
    std::atomic<std::size_t> decommitted_{0};
};

} // namespace cairn::lkmalloc
