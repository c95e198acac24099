// SPDX-License-Identifier: MIT
//
// BoundedFreelistHeap: keeps up to Most freed blocks on a list and hands the last one out again first; a block
// that is freed while the list is full goes back to the heap below.
//
// Adds:    reuse with a limit to what it hoards. getSize (by the block alone where it is so below), owns and clear
//          where the heap below has them.
// Needs:   a heap. Requests of one size only: a build with assertions stops at another one, with
//          NDEBUG it may get a block that is too small.
// Keeps:   at most Most blocks that nobody uses. A free block's first word links the list, so a block has room
//          for a pointer. Destroying the heap gives the listed blocks back.
// Threads: one at a time.
// Errors:  nullptr when the list is empty and the heap below has nothing.
// Cost:    a free list's, and a counter each way.
// Source:  Heap Layers, Table 1: BoundedFreelistHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super, std::size_t Most>
class BoundedFreelistHeap : private Super {
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
        check_size(size);
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
        size_ = any_size_;
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

    void check_size(std::size_t size) {
        if constexpr (platform::checked) {
            if (size_ != size && size_ != any_size_) {
                platform::fatal({"a BoundedFreelistHeap of blocks of ", std::uint64_t{size_},
                                 " bytes was asked for ", std::uint64_t{size}});
            }
            size_ = size;
        }
    }

    static constexpr std::size_t any_size_ = SIZE_MAX;

    Link *first_ = nullptr;
    std::size_t length_ = 0;
    [[maybe_unused]] std::size_t size_ =
        any_size_; ///< of every request; kept up to date by builds with assertions
};

template <std::size_t Most>
struct BoundedFreelist {
    template <class Super>
    using on = BoundedFreelistHeap<Super, Most>;
};

} // namespace cairn
