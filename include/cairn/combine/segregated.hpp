// SPDX-License-Identifier: MIT
//
// SegregatedHeap: strict segregated fits. Each size class has a heap of its own; no block is split or joined.
//
// Adds:    size classes: every request up to Classes::largest is rounded up to its class and served by that
//          class's heap, larger ones by Big. getSize; clear where both heaps have it.
// Needs:   Little and Big that record sizes in one way, found from the block alone (SameSizeRecord), and
//          exactly: a block of a class says the size of the class. Classes: a generator of
//          include/cairn/sizeclass/.
// Keeps:   each little heap sees requests of one size, so a list of free blocks is enough for it. A build with
//          assertions stops at a little heap whose block says another size: it would be freed to another class.
// Threads: one at a time.
// Errors:  nullptr from the heap that was asked; a class never takes from another.
// Cost:    class_of each way.
// Source:  Heap Layers, section 6.1 and Figure 5: StrictSegHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/classes.hpp>

#include <algorithm>
#include <cstdint>

namespace cairn {

template <SizeClasses Classes, Heap Little, Heap Big>
    requires SameSizeRecord<Little, Big>
class SegregatedHeap {
public:
    static constexpr std::size_t alignment = std::min(alignment_of<Little>, alignment_of<Big>);
    static constexpr bool takes_others =
        TakesOthers<Little> && TakesOthers<Big> && ClearableHeap<Little> == ClearableHeap<Big>;
    using SizeRecord = typename Big::SizeRecord;

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > Classes::largest)) {
            return malloc_big(size);
        }
        const unsigned c = Classes::class_of(size);
        if (c >= Classes::count) { // proved by the generator; the heap below need not check the size again
            __builtin_unreachable();
        }
        void *const block = little_[c].malloc(Classes::size_of(c));
        if constexpr (platform::checked) {
            if (block != nullptr && getSize(block) != Classes::size_of(c)) {
                platform::fatal({"a heap of a SegregatedHeap made a block of ", std::uint64_t{getSize(block)},
                                 " bytes for its class of ", std::uint64_t{Classes::size_of(c)}});
            }
        }
        return block;
    }

    void free(void *p) {
        const std::size_t size = getSize(p);
        if (CAIRN_UNLIKELY(size > Classes::largest)) {
            free_big(p);
        } else {
            little_[Classes::class_of(size)].free(p);
        }
    }

    static std::size_t getSize(void *p) { return Big::getSize(p); }

    void clear()
        requires ClearableHeap<Little> && ClearableHeap<Big>
    {
        for (Little &heap : little_) {
            heap.clear();
        }
        big_.clear();
    }

private:
    // Not inlined, so that what they need is not prepared on the way of the small ones.
    CAIRN_NOINLINE void *malloc_big(std::size_t size) { return big_.malloc(size); }
    CAIRN_NOINLINE void free_big(void *p) { big_.free(p); }

    Little little_[Classes::count]; ///< first: the offset of a class's heap is one of the array
    Big big_;
};

/// As a stage: what is below takes the large requests.
template <class Classes, class Little>
struct Segregated {
    template <class Big>
    using on = SegregatedHeap<Classes, Little, Big>;
};

} // namespace cairn
