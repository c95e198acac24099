// SPDX-License-Identifier: MIT
//
// SegregatedHeap: strict segregated fits. Each size class has its own heap; no block is split or joined.
//
// Adds:    size classes: every request up to Classes::largest is rounded up to its class and served by the heap of that
//          class, larger requests by Big. getSize; clear where both heaps have it.
// Needs:   Little and Big that record sizes in the same way (SameSizeRecord) and exactly: getSize of a block of a class
//          is the size of the class. Classes: a generator of include/cairn/sizeclass/.
// Keeps:   each little heap gets requests of one size, so a free list is enough for it. In a build with assertions a
//          block of a little heap with another recorded size ends the process: it would be freed to another class.
// Threads: one at a time.
// Errors:  nullptr from the heap that was asked; a class never uses blocks of another class.
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
        if (c >= Classes::count) { // never; tells the compiler what the generator proves
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
    // Not inlined: so the path of small requests saves no registers for these calls.
    CAIRN_NOINLINE void *malloc_big(std::size_t size) { return big_.malloc(size); }
    CAIRN_NOINLINE void free_big(void *p) { big_.free(p); }

    Little little_[Classes::count]; ///< the first member: the offset of a class's heap needs no addition
    Big big_;
};

/// The stage: the heap below serves the large requests.
template <class Classes, class Little>
struct Segregated {
    template <class Big>
    using on = SegregatedHeap<Classes, Little, Big>;
};

} // namespace cairn
