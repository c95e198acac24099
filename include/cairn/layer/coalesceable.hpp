// SPDX-License-Identifier: MIT
//
// CoalesceableHeap: regions of the heap below as blocks with boundary tags, which a layer above can split and join.
//
// Adds:    getSize, static (SizeRecord names the tag). clear. Unless the heap below is contiguous: memalign and owns,
//          and malloc_zeroed where the heap below has it.
// Needs:   a heap whose blocks are aligned to 16 bytes.
// Keeps:   malloc takes a region of a multiple of Granularity bytes and returns all of it as one block; a CoalesceHeap
//          above splits it. A region goes back when the block that fills it is freed; free of a part does nothing. Over
//          a contiguous heap a region continues the last one, so that blocks of both can be joined: if the last block
//          is free by its tag, malloc asks only for the missing bytes, and the layer that freed that block joins the
//          two. clear and the destructor give all regions back; clear also clears the heap below where it can be
//          cleared. With `Marked`, all blocks bear the mark of the tag.
// Threads: one at a time.
// Errors:  nullptr from below, and above BoundaryTag::largest_request.
// Cost:    8 bytes a block, 32 a region.
// Source:  Heap Layers, section 3.2 and Figure 7: CoalesceableHeap.
#pragma once

#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/region_end.hpp>
#include <cairn/platform/features.hpp>

namespace cairn {

template <Heap Super, std::size_t Granularity = BoundaryTag::unit, bool Marked = false>
class CoalesceableHeap : private Super {
    static_assert(alignment_of<Super> >= quantum, "blocks below must be aligned for the tag");
    static_assert(Granularity % BoundaryTag::unit == 0 && is_power_of_two(Granularity),
                  "the granularity of regions is a power of two, of 16 at least");

public:
    using Super::Super;
    using SizeRecord = BoundaryTag;
    static constexpr std::size_t alignment = BoundaryTag::unit;
    static constexpr bool marked = Marked, takes_others = ContiguousHeap<Super>;

    CoalesceableHeap() = default;
    CoalesceableHeap(const CoalesceableHeap &) = delete;
    CoalesceableHeap &operator=(const CoalesceableHeap &) = delete;
    ~CoalesceableHeap() { release(); }

    void *malloc(std::size_t size) {
        return place(size, [&](std::size_t bytes) { return Super::malloc(bytes); });
    }

    void *malloc_zeroed(std::size_t size)
        requires(ZeroingHeap<Super> && !ContiguousHeap<Super>)
    {
        return place(size, [&](std::size_t bytes) { return Super::malloc_zeroed(bytes); });
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires(!ContiguousHeap<Super>)
    {
        if (wanted <= alignment) {
            return malloc(size);
        }
        if (size > BoundaryTag::largest_request || wanted > BoundaryTag::largest_request) {
            return nullptr;
        }
        void *const p = malloc(size + wanted + BoundaryTag::smallest);
        if (p == nullptr || is_aligned(p, wanted)) {
            return p;
        }
        BoundaryTag *const gap = BoundaryTag::of(p);
        BoundaryTag *const tag = gap->split_before(wanted);
        gap->mark_free();
        return tag->block();
    }

    void free(void *p) {
        if constexpr (!ContiguousHeap<Super>) {
            BoundaryTag *tag = BoundaryTag::of(p);
            BoundaryTag *const end = tag->next();
            if (!tag->before_in_use()) { // the gap that memalign left
                tag = tag->before();
            }
            const auto all =
                static_cast<std::size_t>(reinterpret_cast<char *>(end) - reinterpret_cast<char *>(tag));
            if (end->is_fence() && all == end->bytes()) {
                give_back(reinterpret_cast<Region *>(tag) - 1);
            }
        }
    }

    static std::size_t getSize(void *p) { return BoundaryTag::room_in(BoundaryTag::of(p)->bytes()); }

    bool owns(const void *p) const
        requires(!ContiguousHeap<Super>)
    {
        for (const Region *region = regions_; region != nullptr; region = region->next) {
            if (address_of(p) - address_of(region) < region->bytes) {
                return true;
            }
        }
        return false;
    }

    void clear() {
        release();
        if constexpr (ClearableHeap<Super>) {
            Super::clear();
        }
    }

private:
    /// The front of a region, right before its first tag; not over a contiguous heap.
    struct Region {
        Region *next;
        Region *before;
        std::size_t bytes;
    };
    static constexpr std::size_t overhead_ = sizeof(Region) + sizeof(BoundaryTag); ///< front and fence
    static_assert(overhead_ % BoundaryTag::unit == 0);

    template <class F>
    void *place(std::size_t size, F ask) {
        if (CAIRN_UNLIKELY(size > BoundaryTag::largest_request * 2 - Granularity - 2 * overhead_)) {
            return nullptr;
        }
        const std::size_t bytes = align_up(BoundaryTag::bytes_for(size) + overhead_, Granularity);
        const std::size_t missing =
            end_.known() ? align_up(end_.missing(BoundaryTag::bytes_for(size)), Granularity) : bytes;
        void *base = ask(missing);
        if constexpr (ContiguousHeap<Super>) {
            if (end_.is(base)) {
                return end_.grow(missing, Marked);
            }
            if (base != nullptr && missing < bytes &&
                ask(bytes - missing) != static_cast<char *>(base) + missing) {
                base = ask(bytes);
            }
        }
        return base != nullptr ? start(static_cast<Region *>(base), bytes) : nullptr;
    }

    void *start(Region *region, std::size_t bytes) {
        char *const end = reinterpret_cast<char *>(region) + bytes;
        if constexpr (ContiguousHeap<Super>) {
            end_.set(end);
        } else {
            *region = Region{regions_, nullptr, bytes};
            if (regions_ != nullptr) {
                regions_->before = region;
            }
            regions_ = region;
        }
        auto *const tag = reinterpret_cast<BoundaryTag *>(region + 1);
        tag->start(bytes - overhead_, Marked);
        BoundaryTag::of(end)->fence(bytes - overhead_);
        return tag->block();
    }

    void give_back(Region *region) {
        (region->before != nullptr ? region->before->next : regions_) = region->next;
        if (region->next != nullptr) {
            region->next->before = region->before;
        }
        Super::free(region);
    }

    void release() {
        while (regions_ != nullptr) {
            give_back(regions_);
        }
        end_.forget();
    }

    Region *regions_ = nullptr; ///< all regions; empty over a contiguous heap
    RegionEnd end_;             ///< the end of the last region, over a contiguous heap
};

template <std::size_t Granularity = BoundaryTag::unit, bool Marked = false>
struct Coalesceable {
    template <class Super>
    using on = CoalesceableHeap<Super, Granularity, Marked>;
};

} // namespace cairn
