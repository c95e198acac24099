// SPDX-License-Identifier: MIT
//
// CoalesceHeap: splits blocks that are too large, and joins freed blocks with their free neighbours at once.
//
// Adds:    splitting and joining; memalign by splitting; reallocate, in place where the block is long enough, or a free
//          neighbour behind it is, or where the heap below can continue the region. getSize. owns and clear where the
//          heap below has them.
// Needs:   a heap whose blocks have boundary tags (TaggedHeap), and that holds each freed block, down to the smallest,
//          until it allocates the block again or remove() takes it out (HoldingHeap): a SegHeap on a CoalesceableHeap,
//          with classes from 24 bytes or less.
// Keeps:   no two free blocks are adjacent; a block is longer than requested by less than BoundaryTag::smallest. In a
//          build with assertions the free of a free block, or a broken tag, ends the process.
// Threads: one at a time.
// Errors:  nullptr from below, or its exception: the block of a reallocate is then unchanged.
// Cost:    some twenty instructions each way, more where blocks are joined or split.
// Source:  Heap Layers, section 6.2 and Figure 7: CoalesceHeap.
#pragma once

#include <cairn/core/at_end.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/platform/features.hpp>

#include <cstring>
#include <optional>

namespace cairn {

template <TaggedHeap Super>
    requires(HoldingHeap<Super> && !Joins<Super>)
class CoalesceHeap : private Super {
    static_assert(detail::smallest_of<Super> <= BoundaryTag::room_in(BoundaryTag::smallest),
                  "the heap below must hold the smallest block that is split off");

public:
    using Super::Super;
    using SizeRecord = BoundaryTag;
    static constexpr bool marks = MayMark<Super>, joins = true;
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) {
        return CAIRN_LIKELY(size <= BoundaryTag::largest_request) ? fit(Super::malloc(size), size) : nullptr;
    }

    void free(void *p) {
        BoundaryTag *const tag = BoundaryTag::of(p);
        tag->check_in_use();
        join_behind(tag);
        hold(tag->before_in_use() ? tag : join_before(tag));
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
            BoundaryTag *const gap = BoundaryTag::of(p);
            p = gap->split_before(wanted)->block();
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
        tag->check_in_use();
        const std::size_t before = tag->bytes(), bytes = BoundaryTag::bytes_for(size);
        if (before < bytes) {
            join_behind(tag);
            tag->mark_in_use();
        }
        if (tag->bytes() >= bytes) {
            shorten(tag, bytes);
            return p;
        }
        void *moved = nullptr;
        const AtEnd unchanged([&] { moved == nullptr ? shorten(tag, before) : void(); });
        moved = tag->next()->is_fence() ? grow(tag, size) : malloc(size);
        if (moved != nullptr && moved != p) {
            std::memcpy(moved, p, BoundaryTag::room_in(before));
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
    /// Cuts a block of the heap below, or nullptr, to what a request for `size` bytes needs, and frees the rest.
    void *fit(void *p, std::size_t size) {
        if (CAIRN_UNLIKELY(p == nullptr)) {
            return nullptr;
        }
        BoundaryTag *tag = BoundaryTag::of(p);
        if (CAIRN_UNLIKELY(!tag->before_in_use())) { // only when the heap below has continued a region
            tag = join_before(tag);
        }
        tag->mark_in_use();
        if (const std::size_t bytes = BoundaryTag::bytes_for(size);
            tag->bytes() - bytes >= BoundaryTag::smallest) {
            hold(tag->split(bytes)); // the next block is in use: a free one would have been joined before
        }
        return tag->block();
    }

    /// Reallocation of the last block of a region. The block is marked as free while the heap below is asked, which
    /// then may continue the region behind it: so the block grows in place. Otherwise returns a new block, without the
    /// contents.
    void *grow(BoundaryTag *tag, std::size_t size) {
        void *const behind = tag->next()->block();
        std::optional<LooksFree> looks_free(tag);
        void *const p = Super::malloc(size);
        looks_free.reset();
        if (p != behind) {
            return fit(p, size);
        }
        tag->join_next();
        shorten(tag, BoundaryTag::bytes_for(size));
        return tag->block();
    }

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

    /// Shortens a block in use to `bytes` and frees the rest, if that is long enough to be a block.
    void shorten(BoundaryTag *tag, std::size_t bytes) {
        if (tag->bytes() - bytes >= BoundaryTag::smallest) {
            BoundaryTag *const rest = tag->split(bytes);
            rest->mark_in_use();
            join_behind(rest);
            hold(rest);
        }
    }
};

struct Coalesce {
    template <class Super>
    using on = CoalesceHeap<Super>;
};

} // namespace cairn
