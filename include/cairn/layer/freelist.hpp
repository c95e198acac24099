// SPDX-License-Identifier: MIT
//
// FreelistHeap: keeps freed blocks on a list and reuses the block that was freed last first.
//
// Adds:    reuse. getSize (static where the heap below has it so), owns and clear where the heap below has them.
// Needs:   a heap. Requests of one size only: in a build with assertions a request of another size ends the process;
//          with NDEBUG it may get a block that is too small.
// Keeps:   the first word of a free block links the list, so a block has room for a pointer. Destroying the heap gives
//          the listed blocks back.
// Threads: one at a time.
// Errors:  nullptr when the list is empty and the heap below is out of memory.
// Cost:    some four instructions each way; the length of the list is not bounded.
// Source:  Heap Layers, section 3.1 and Figure 2: FreelistHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/layer/one_size.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>

namespace cairn {

template <Heap Super>
class CAIRN_BY_CHECKS FreelistHeap : private Super {
public:
    using Super::Super;
    using SizeRecord = detail::RecordOf<Super>; ///< a listed block says the same as before
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>, joins = Joins<Super>;
    static constexpr bool takes_others = KeepsOthers<Super>;

    FreelistHeap() = default;
    FreelistHeap(const FreelistHeap &) = delete;
    FreelistHeap &operator=(const FreelistHeap &) = delete;

    ~FreelistHeap() {
        while (first_ != nullptr) {
            Link *const block = first_;
            first_ = block->next;
            Super::free(block);
        }
    }

    void *malloc(std::size_t size) {
        requests_.check("a FreelistHeap", size);
        if (CAIRN_UNLIKELY(first_ == nullptr)) {
            return Super::malloc(std::max(size, sizeof(Link)));
        }
        Link *const block = first_;
        first_ = block->next;
        return block;
    }

    void free(void *p) {
        auto *const block = static_cast<Link *>(p);
        block->next = first_;
        first_ = block;
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
        requests_ = {};
        Super::clear();
    }

private:
    struct Link {
        Link *next;
    };
    static_assert(alignment >= alignof(Link), "blocks below must be aligned for a pointer");

    Link *first_ = nullptr;
    [[no_unique_address]] detail::OneSize<> requests_;
};

struct Freelist {
    template <class Super>
    using on = FreelistHeap<Super>;
};

} // namespace cairn
