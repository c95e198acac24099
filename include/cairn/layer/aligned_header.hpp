// SPDX-License-Identifier: MIT
//
// AlignedHeaderHeap: memalign for a heap whose blocks have size headers.
//
// Adds:    memalign: an aligned block lies inside a larger block of the heap below, and the header before it holds the
//          distance between the two. getSize. clear where the heap below has it.
// Needs:   a heap whose blocks record their size in a SizeHeaderWord, an even size for an even request.
// Keeps:   requests are rounded up to even sizes. A header with an even value holds a size; one with an odd value holds
//          a distance d as 2d + 1.
// Threads: those of the heap below, whose locks are held across a fork where it can hold them.
// Errors:  nullptr from below, and when size and alignment do not fit into a size_t.
// Cost:    a test of the header for each free; an aligned block wastes up to its alignment and 16 bytes.
// Source:  POSIX requires posix_memalign, which Heap Layers' StrictSegHeap lacks.
#pragma once

#include <cairn/layer/size_header.hpp>

namespace cairn {

template <SelfSizedHeap Super>
    requires std::same_as<typename Super::SizeRecord, SizeHeaderWord>
class AlignedHeaderHeap : private Super {
public:
    using Super::Super;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    void *malloc(std::size_t size) {
        return CAIRN_UNLIKELY(size == SIZE_MAX) ? nullptr : Super::malloc(size + (size & 1));
    }

    void *memalign(std::size_t wanted, std::size_t size) {
        if (wanted <= alignment) {
            return malloc(size);
        }
        if (size > SIZE_MAX / 4 || wanted > SIZE_MAX / 4) {
            return nullptr;
        }
        void *const block = malloc(size + wanted);
        if (block == nullptr || is_aligned(block, wanted)) {
            return block;
        }
        // The next multiple of `wanted` leaves room for a header: both addresses are multiples of a header's size.
        const std::size_t distance = align_up(address_of(block), wanted) - address_of(block);
        void *const aligned = static_cast<char *>(block) + distance;
        header_of(aligned)->size = 2 * distance + 1;
        return aligned;
    }

    void free(void *p) { Super::free(static_cast<char *>(p) - distance_of(p)); }

    static std::size_t getSize(void *p) {
        const std::size_t distance = distance_of(p);
        return Super::getSize(static_cast<char *>(p) - distance) - distance;
    }

    void clear()
        requires ClearableHeap<Super>
    {
        Super::clear();
    }

    void lock_all()
        requires sync::ForkLocks<Super>
    {
        Super::lock_all();
    }
    void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        Super::unlock_all(side);
    }
    void begin_in_child()
        requires sync::BeginsInChild<Super>
    {
        Super::begin_in_child();
    }

private:
    static_assert(alignment >= sizeof(SizeHeaderWord));

    static SizeHeaderWord *header_of(void *p) { return static_cast<SizeHeaderWord *>(p) - 1; }

    /// The distance from the block of the heap below to p; 0 for a block that memalign did not move.
    static std::size_t distance_of(void *p) {
        const std::size_t size = header_of(p)->size;
        return CAIRN_LIKELY((size & 1) == 0) ? 0 : size / 2;
    }
};

struct AlignedHeader {
    template <class Super>
    using on = AlignedHeaderHeap<Super>;
};

} // namespace cairn
