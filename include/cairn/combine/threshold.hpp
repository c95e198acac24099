// SPDX-License-Identifier: MIT
//
// ThresholdHeap: quicklists of small blocks above a heap that joins freed blocks. Small blocks are joined late, and
// only when this may help.
//
// Adds:    a list of freed blocks for each small class. A request of `Trigger` bytes or more first frees all listed
//          blocks to the heap below, which may join them to a large block; so does a request for which the heap below
//          is out of memory (nullptr or std::bad_alloc), and then the request is tried again. getSize; consolidate.
//          memalign, reallocate, owns and clear where the heap below has them.
// Needs:   a heap whose blocks record their size; Small, a generator of size classes whose sizes are sizes of blocks of
//          the heap below, so that all blocks of a list have one size.
// Keeps:   every block of a list fits every request of its class. Destroying the heap frees the listed blocks.
// Threads: one at a time.
// Errors:  nullptr from below, or its exception.
// Cost:    a few instructions for a small block; the length of the lists between two triggers is not bounded.
// Source:  Heap Layers, sections 2.1 and 6.2, Figure 7: LeaHeap's ThresholdHeap with the small StrictSegHeap,
//          whose memory is the medium heap's.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/classes.hpp>

namespace cairn {

template <SelfSizedHeap Super, SizeClasses Small, std::size_t Trigger>
class CAIRN_BY_EXCEPTIONS ThresholdHeap : private Super {
    static_assert(Trigger > Small::largest, "a small request does not empty its own list");

public:
    using Super::Super;
    using SizeRecord = typename Super::SizeRecord;
    static constexpr bool marks = MayMark<Super>, joins = Joins<Super>, takes_others = TakesOthers<Super>;
    static constexpr std::size_t alignment = alignment_of<Super>;

    ThresholdHeap() = default;
    ThresholdHeap(const ThresholdHeap &) = delete;
    ThresholdHeap &operator=(const ThresholdHeap &) = delete;
    ~ThresholdHeap() { consolidate(); }

    void *malloc(std::size_t size) {
        if (CAIRN_LIKELY(size <= Small::largest)) {
            const unsigned c = Small::class_of(size);
            if (Link *const block = lists_[c]; CAIRN_LIKELY(block != nullptr)) {
                lists_[c] = block->next;
                return block;
            }
            size = Small::size_of(c);
        } else if (size >= Trigger) {
            consolidate();
        }
        return twice([&] { return Super::malloc(size); });
    }

    void free(void *p) {
        const std::size_t size = Super::getSize(p);
        if (size > Small::largest || size < Small::size_of(0)) {
            Super::free(p);
            return;
        }
        auto *const block = static_cast<Link *>(p);
        Link *&list = lists_[class_below<Small>(size)];
        block->next = list;
        list = block;
        holding_ = true;
    }

    /// Frees all listed blocks to the heap below.
    void consolidate() {
        if (!holding_) {
            return;
        }
        holding_ = false;
        for (Link *&list : lists_) {
            while (list != nullptr) {
                Link *const block = list;
                list = block->next;
                Super::free(block);
            }
        }
    }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return twice([&] { return Super::memalign(wanted, size); });
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        return twice([&] { return Super::reallocate(p, size); });
    }

    static std::size_t getSize(void *p) { return Super::getSize(p); }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        for (Link *&list : lists_) {
            list = nullptr;
        }
        holding_ = false;
        Super::clear();
    }

private:
    struct Link {
        Link *next;
    };
    static_assert(alignment >= alignof(Link), "blocks below must be aligned for a pointer");
    static_assert(Small::size_of(0) >= sizeof(Link),
                  "a block of the smallest class has room for a list's link");

    /// Calls ask(), and if memory is out, frees the listed blocks and calls it once more.
    template <class F>
    void *twice(F ask) {
        void *block = platform::null_for_bad_alloc(ask);
        if (CAIRN_UNLIKELY(block == nullptr)) {
            consolidate();
            block = ask();
        }
        return block;
    }

    Link *lists_[Small::count] = {};
    bool holding_ = false; ///< a list may have a block
};

template <class Small, std::size_t Trigger>
struct Threshold {
    template <class Super>
    using on = ThresholdHeap<Super, Small, Trigger>;
};

} // namespace cairn
