// SPDX-License-Identifier: MIT
//
// SelectMappedHeap: large requests go to a heap of mappings, other requests to the heap below. The mark in the boundary
// tag tells the blocks of the two apart.
//
// Adds:    the choice: requests of `From` bytes and more go to Mapped. When one heap is out of memory, the other one is
//          asked. getSize, memalign, reallocate, malloc_zeroed. clear and owns where both heaps have them.
// Needs:   two heaps with boundary tags: Mapped marks all its blocks, the heap below marks none (MayMark). Both have
//          memalign; the heap below also has reallocate.
// Keeps:   a block is freed to the heap that it came from.
// Threads: one at a time.
// Errors:  nullptr when both heaps are out of memory, or the exception of the one that was asked last.
// Cost:    a comparison for each malloc, a bit test of the tag for each free.
// Source:  Heap Layers, section 6.2 and Figure 7: SelectMmapHeap. The size of a block, by which HybridHeap decides,
//          does not tell the heaps apart here: a block whose rest is too short to be split off is longer than
//          requested.
#pragma once

#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/move_block.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstring>

namespace cairn {

template <class H>
concept MarkingHeap = TaggedHeap<H> && MarksAll<H>;

template <TaggedHeap Super, std::size_t From, MarkingHeap Mapped>
    requires AlignedHeap<Super> && AlignedHeap<Mapped> && ReallocatingHeap<Super> && (!MayMark<Super>)
class CAIRN_BY_EXCEPTIONS SelectMappedHeap : private Super {
public:
    using Super::Super;
    using SizeRecord = BoundaryTag;
    /// So no second SelectMappedHeap stands on this one: it could not tell whose a marked block is.
    static constexpr bool marks = true;
    static constexpr bool joins = Joins<Super>;
    static constexpr std::size_t alignment = std::min(alignment_of<Super>, alignment_of<Mapped>);

    void *malloc(std::size_t size) {
        if (CAIRN_LIKELY(size < From)) {
            void *const block = platform::null_for_bad_alloc([&] { return Super::malloc(size); });
            return CAIRN_LIKELY(block != nullptr) ? block : mapped_.malloc(size);
        }
        return malloc_mapped(size);
    }

    void free(void *p) {
        if (CAIRN_UNLIKELY(BoundaryTag::of(p)->marked())) {
            mapped_.free(p);
        } else {
            Super::free(p);
        }
    }

    void *malloc_zeroed(std::size_t size) {
        if constexpr (ZeroingHeap<Mapped>) {
            if (size >= From) {
                const auto mapped = [&] { return mapped_.malloc_zeroed(size); };
                if (void *const block = platform::null_for_bad_alloc(mapped); block != nullptr) {
                    return block;
                }
            }
        }
        void *const block = malloc(size);
        return block == nullptr ? nullptr : std::memset(block, 0, size);
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        const auto below = [&] { return Super::memalign(wanted, size); };
        const auto mapped = [&] { return mapped_.memalign(wanted, size); };
        return size < From && wanted < From - size ? either(below, mapped) : either(mapped, below);
    }

    void *reallocate(void *p, std::size_t size) {
        const std::size_t room = getSize(p);
        if (BoundaryTag::of(p)->marked()) {
            if (size <= room && size >= room / 2) {
                return p;
            }
        } else if (size < From) {
            const auto below = [&] { return Super::reallocate(p, size); };
            if (void *const block = platform::null_for_bad_alloc(below); block != nullptr) {
                return block;
            }
        }
        return move_block(*this, p, room, size);
    }

    static std::size_t getSize(void *p) { return Super::getSize(p); }

    bool owns(const void *p) const
        requires OwningHeap<Super> && OwningHeap<Mapped>
    {
        return Super::owns(p) || mapped_.owns(p);
    }

    void clear()
        requires ClearableHeap<Super> && ClearableHeap<Mapped>
    {
        Super::clear();
        mapped_.clear();
    }

private:
    // Not inlined: else malloc would be too long to be inlined itself.
    CAIRN_NOINLINE void *malloc_mapped(std::size_t size) {
        void *const block = platform::null_for_bad_alloc([&] { return mapped_.malloc(size); });
        return block != nullptr ? block : Super::malloc(size);
    }

    /// The block of first(), or that of second() if the first heap is out of memory.
    template <class F, class G>
    static void *either(F first, G second) {
        void *const block = platform::null_for_bad_alloc(first);
        return CAIRN_LIKELY(block != nullptr) ? block : second();
    }

    Mapped mapped_;
};

template <std::size_t From, class Mapped>
struct SelectMapped {
    template <class Super>
    using on = SelectMappedHeap<Super, From, Mapped>;
};

} // namespace cairn
