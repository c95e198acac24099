// SPDX-License-Identifier: MIT
//
// SelectMappedHeap: large blocks come from a heap of mappings, which a bit in their tag tells, the others from
// the heap below.
//
// Adds:    the choice: requests of `From` bytes and more go to Mapped. When one heap has nothing, the other
//          one is asked. getSize, memalign, reallocate, malloc_zeroed. clear and owns where both have them.
// Needs:   two heaps with boundary tags; Mapped marks its blocks, the one below marks none (MayMark). Both have memalign,
//          the one below reallocate too.
// Keeps:   a block goes back where it came from.
// Threads: one at a time.
// Errors:  nullptr when both have nothing.
// Cost:    a comparison for malloc, a bit of the tag for free.
// Source:  Heap Layers, section 6.2 and Figure 7: SelectMmapHeap. HybridHeap tells blocks by their size, but a
//          block that could not be split any more may be larger than it was asked for.
#pragma once

#include <cairn/core/move_block.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstring>

namespace cairn {

template <class H>
concept MarkingHeap = TaggedHeap<H> && MarksAll<H>;

template <TaggedHeap Super, std::size_t From, MarkingHeap Mapped>
    requires AlignedHeap<Super> && AlignedHeap<Mapped> && ReallocatingHeap<Super> && (!MayMark<Super>)
class SelectMappedHeap : private Super {
public:
    using Super::Super;
    using SizeRecord = BoundaryTag;
    static constexpr bool marks =
        true; ///< so it stands on no other one: whose a marked block is none could tell
    static constexpr bool joins = Joins<Super>;
    static constexpr std::size_t alignment = std::min(alignment_of<Super>, alignment_of<Mapped>);

    void *malloc(std::size_t size) {
        if (CAIRN_LIKELY(size < From)) {
            void *const block = Super::malloc(size);
            return CAIRN_LIKELY(block != nullptr) ? block : mapped_.malloc(size);
        }
        void *const block = mapped_.malloc(size);
        return block != nullptr ? block : Super::malloc(size);
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
                if (void *const block = mapped_.malloc_zeroed(size); block != nullptr) {
                    return block;
                }
            }
        }
        void *const block = malloc(size);
        return block == nullptr ? nullptr : std::memset(block, 0, size);
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (size < From && wanted < From - size) {
            if (void *const block = Super::memalign(wanted, size); block != nullptr) {
                return block;
            }
        }
        void *const block = mapped_.memalign(wanted, size);
        return block != nullptr ? block : Super::memalign(wanted, size);
    }

    void *reallocate(void *p, std::size_t size) {
        const std::size_t room = getSize(p);
        if (BoundaryTag::of(p)->marked()) {
            if (size <= room && size >= room / 2) {
                return p;
            }
        } else if (size < From) {
            if (void *const block = Super::reallocate(p, size); block != nullptr) {
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
    Mapped mapped_;
};

template <std::size_t From, class Mapped>
struct SelectMapped {
    template <class Super>
    using on = SelectMappedHeap<Super, From, Mapped>;
};

} // namespace cairn
