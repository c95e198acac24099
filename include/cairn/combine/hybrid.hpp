// SPDX-License-Identifier: MIT
//
// HybridHeap: one heap for requests of up to Threshold bytes, another for larger ones.
//
// Adds:    the choice between the two heaps. getSize where blocks record their size; owns and clear where both heaps
//          have them.
// Needs:   a way to tell the blocks of the two heaps apart: both record sizes in the same way (SameSizeRecord), and the
//          small one does not round a request up to more than Threshold; or the small one owns() its blocks
//          (OwningHeap). Where both hold, the size decides.
// Keeps:   a block is freed to the heap that it came from. When the heap that was asked is out of memory, the other one
//          is not asked. In a build with assertions a small block whose size is above Threshold ends the process.
// Threads: one at a time.
// Errors:  nullptr from the heap that was asked.
// Cost:    a comparison for each malloc; getSize, or `owns` of the small heap, for each free.
// Source:  Heap Layers, Table 1: HybridHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstdint>

namespace cairn {

/// A block of Small can be told from one of Big.
template <class Small, class Big>
concept TellableApart = SameSizeRecord<Small, Big> || OwningHeap<Small>;

template <std::size_t Threshold, Heap Small, Heap Big>
    requires TellableApart<Small, Big>
class HybridHeap {
    static constexpr bool by_size_ = SameSizeRecord<Small, Big>;

public:
    static constexpr std::size_t alignment = std::min(alignment_of<Small>, alignment_of<Big>);
    static constexpr bool takes_others =
        by_size_ && TakesOthers<Small> && TakesOthers<Big> && ClearableHeap<Small> == ClearableHeap<Big>;

    void *malloc(std::size_t size) {
        if constexpr (!by_size_) {
            size = std::max<std::size_t>(size, 1); // a heap may not own the address of an empty block
        }
        if (size > Threshold) {
            return big_.malloc(size);
        }
        void *const block = small_.malloc(size);
        if constexpr (platform::checked && by_size_) {
            if (block != nullptr && !is_small(block)) {
                platform::fatal({"the small heap of a HybridHeap made ", std::uint64_t{size},
                                 " bytes a block of more than its threshold, ", std::uint64_t{Threshold}});
            }
        }
        return block;
    }

    void free(void *p) {
        if (is_small(p)) {
            small_.free(p);
        } else {
            big_.free(p);
        }
    }

    std::size_t getSize(void *p) const
        requires SizedHeap<Small> && SizedHeap<Big>
    {
        return is_small(p) ? small_.getSize(p) : big_.getSize(p);
    }

    bool owns(const void *p) const
        requires OwningHeap<Small> && OwningHeap<Big>
    {
        return small_.owns(p) || big_.owns(p);
    }

    void clear()
        requires ClearableHeap<Small> && ClearableHeap<Big>
    {
        small_.clear();
        big_.clear();
    }

private:
    bool is_small(void *p) const {
        if constexpr (OwningHeap<Small> && !by_size_) {
            return small_.owns(p);
        } else {
            return Big::getSize(p) <= Threshold;
        }
    }

    Big big_;
    Small small_;
};

/// The stage: the heap below serves the large requests.
template <std::size_t Threshold, class Small>
struct Hybrid {
    template <class Big>
    using on = HybridHeap<Threshold, Small, Big>;
};

} // namespace cairn
