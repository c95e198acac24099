// SPDX-License-Identifier: MIT
//
// BoundedFreelistHeap: keeps up to Most freed blocks on a list and reuses the block that was freed last first. A block
// that is freed while the list is full goes back to the heap below.
//
// Adds:    reuse with a limit to the memory that is kept. getSize (static where the heap below has it so), owns and
//          clear where the heap below has them.
// Needs:   a heap. Requests of one size only: in a build with assertions a request of another size ends the process;
//          with NDEBUG it may get a block that is too small.
// Keeps:   at most Most free blocks. The first word of a free block links the list, so a block has room for a pointer.
//          Destroying the heap gives the listed blocks back.
// Threads: one at a time.
// Errors:  nullptr when the list is empty and the heap below is out of memory.
// Cost:    that of a free list, and a counter each way.
// Source:  Heap Layers, Table 1: BoundedFreelistHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/one_size.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super, std::size_t Most>
class CAIRN_BY_CHECKS BoundedFreelistHeap : private Super {
    static_assert(Most > 0, "a list that keeps nothing is no layer");

public:
    using Super::Super;
    using SizeRecord = detail::RecordOf<Super>; ///< a listed block says the same as before
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>, joins = Joins<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    constexpr BoundedFreelistHeap() = default;
    BoundedFreelistHeap(const BoundedFreelistHeap &) = delete;
    BoundedFreelistHeap &operator=(const BoundedFreelistHeap &) = delete;

    ~BoundedFreelistHeap() {
        while (first_ != nullptr) {
            Super::free(pop());
        }
    }

    void *malloc(std::size_t size) {
        requests_.check("a BoundedFreelistHeap", size);
        return CAIRN_LIKELY(first_ != nullptr) ? pop() : Super::malloc(std::max(size, sizeof(Link)));
    }

    void free(void *p) {
        if (CAIRN_UNLIKELY(length_ == Most)) {
            Super::free(p);
            return;
        }
        auto *const block = static_cast<Link *>(p);
        block->next = first_;
        first_ = block;
        ++length_;
    }

    std::size_t getSize(void *p) const
        requires(SizedHeap<Super> && !SelfSizedHeap<Super>)
    {
        return Super::getSize(p);
    }

    static std::size_t getSize(void *p)
        requires SelfSizedHeap<Super>
    {
        return Super::getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<Super>
    {
        return Super::owns(p);
    }

    void clear()
        requires ClearableHeap<Super>
    {
        first_ = nullptr;
        length_ = 0;
        requests_ = {};
        Super::clear();
    }

private:
    struct Link {
        Link *next;
    };
    static_assert(alignment >= alignof(Link), "blocks below must be aligned for a pointer");

    void *pop() {
        Link *const block = first_;
        first_ = block->next;
        --length_;
        return block;
    }

    Link *first_ = nullptr;
    std::size_t length_ = 0;
    [[no_unique_address]] detail::OneSize<> requests_;
};

template <std::size_t Most>
struct BoundedFreelist {
    template <class Super>
    using on = BoundedFreelistHeap<Super, Most>;
};

} // namespace cairn
