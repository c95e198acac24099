// SPDX-License-Identifier: MIT
//
// CoalesceHeap: splits blocks that are too large, and joins freed blocks with their free neighbours at once.
//
// Adds:    splitting and joining; memalign by splitting; reallocate, in place where the block or a free
//          neighbour behind it has the room. getSize. owns and clear where the heap below has them.
// Needs:   a heap whose blocks have boundary tags and that holds what is freed, until it is asked for or
//          removed (TaggedHeap, HoldingHeap), down to the smallest: a SegHeap on a CoalesceableHeap, with
//          classes from 24 bytes or less.
// Keeps:   no two free blocks lie side by side; a block is larger than asked for by less than
//          BoundaryTag::smallest. A build with assertions stops at a free of a free block and at a broken tag.
// Threads: one at a time.
// Errors:  nullptr from below.
// Cost:    some twenty instructions each way, more where blocks are joined or split.
// Source:  Heap Layers, section 6.2 and Figure 7: CoalesceHeap.
#pragma once

#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <cstring>

namespace cairn {

namespace detail {
/// The least size of a block that H can hold, where it says so.
template <class H>
inline constexpr std::size_t smallest_of = 0;
template <class H>
    requires requires { H::smallest; }
inline constexpr std::size_t smallest_of<H> = H::smallest;
} // namespace detail

template <TaggedHeap Super>
    requires(HoldingHeap<Super> && !Joins<Super>)
class CoalesceHeap : private Super {
    static_assert(detail::smallest_of<Super> <= BoundaryTag::room_in(BoundaryTag::smallest),
                  "the heap below must hold the smallest block that is split off");

public:
    using SizeRecord = BoundaryTag;
    static constexpr bool marks = MayMark<Super>, joins = true;
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > BoundaryTag::largest_request)) {
            return nullptr;
        }
        void *const p = Super::malloc(size);
        if (CAIRN_UNLIKELY(p == nullptr)) {
            return nullptr;
        }
        BoundaryTag *tag = BoundaryTag::of(p);
        if (CAIRN_UNLIKELY(!tag->before_in_use())) { // only where a region has grown
            tag = join_before(tag);
        }
        tag->mark_in_use();
        if (const std::size_t bytes = BoundaryTag::bytes_for(size);
            tag->bytes() - bytes >= BoundaryTag::smallest) {
            hold(tag->split(bytes)); // what is behind is in use, or it would have been joined before
        }
        return tag->block();
    }

    void free(void *p) {
        BoundaryTag *tag = BoundaryTag::of(p);
        check(tag);
        join_behind(tag);
        if (!tag->before_in_use()) {
            tag = join_before(tag);
        }
        hold(tag);
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (wanted <= alignment) {
            return malloc(size);
        }
        if (size > BoundaryTag::largest_request || wanted > BoundaryTag::largest_request / 2) {
            return nullptr;
        }
        void *p = malloc(size + wanted + BoundaryTag::smallest);
        if (p == nullptr) {
            return nullptr;
        }
        if (!is_aligned(p, wanted)) {
            const std::size_t start = align_up(address_of(p) + BoundaryTag::smallest, wanted);
            BoundaryTag *const gap = BoundaryTag::of(p);
            p = gap->split(start - address_of(p))->block();
            hold(gap);
        }
        shorten(BoundaryTag::of(p), BoundaryTag::bytes_for(size));
        return p;
    }

    void *reallocate(void *p, std::size_t size) {
        if (size > BoundaryTag::largest_request) {
            return nullptr;
        }
        BoundaryTag *const tag = BoundaryTag::of(p);
        check(tag);
        const std::size_t bytes = BoundaryTag::bytes_for(size);
        if (tag->bytes() < bytes && !tag->next()->in_use() && tag->bytes() + tag->next()->bytes() >= bytes) {
            join_behind(tag);
            tag->mark_in_use();
        }
        if (tag->bytes() >= bytes) {
            shorten(tag, bytes);
            return p;
        }
        void *const moved = malloc(size);
        if (moved != nullptr) {
            std::memcpy(moved, p, getSize(p));
            free(p);
        }
        return moved;
    }

    static std::size_t getSize(void *p) { return BoundaryTag::room_in(BoundaryTag::of(p)->bytes()); }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        Super::clear();
    }

private:
    void hold(BoundaryTag *tag) {
        tag->mark_free();
        Super::free(tag->block());
    }

    void join_behind(BoundaryTag *tag) {
        if (BoundaryTag *const behind = tag->next(); !behind->in_use()) {
            Super::remove(behind->block());
            tag->join_next();
        }
    }

    BoundaryTag *join_before(BoundaryTag *tag) {
        BoundaryTag *const before = tag->before();
        Super::remove(before->block());
        before->join_next();
        return before;
    }

    /// Frees what a block in use has above `bytes`.
    void shorten(BoundaryTag *tag, std::size_t bytes) {
        if (tag->bytes() - bytes >= BoundaryTag::smallest) {
            BoundaryTag *const rest = tag->split(bytes);
            rest->mark_in_use();
            join_behind(rest);
            hold(rest);
        }
    }

    static void check(BoundaryTag *tag) {
        if constexpr (platform::checked) {
            if (!tag->in_use() || tag->is_fence() || tag->bytes() < BoundaryTag::smallest ||
                !tag->next()->before_in_use()) {
                platform::fatal({"free of ", tag->block(), ", which is free or has a broken boundary tag"});
            }
        }
    }
};

struct Coalesce {
    template <class Super>
    using on = CoalesceHeap<Super>;
};

} // namespace cairn
