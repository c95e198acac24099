// SPDX-License-Identifier: MIT
//
// RoundedHeap: rounds the size of each request up to its size class.
//
// Adds:    rounding. getSize, memalign, reallocate, owns and clear where the heap below has them.
// Needs:   a heap; Classes, a generator of size classes.
// Keeps:   the heap below gets requests of class sizes only, and requests above the largest class unchanged.
// Threads: those of the heap below, whose locks are held across a fork where it can hold them.
// Errors:  those of the heap below.
// Cost:    class_of and size_of for each request; internal fragmentation.
// Source:  Heap Layers, Figure 5: StrictSegHeap asks its heaps for the largest size of the class. As a layer of its own
//          it gives a heap that splits and joins the internal fragmentation of a heap that does not (section 8).
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sizeclass/classes.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

template <Heap Super, SizeClasses Classes>
class RoundedHeap : private Super {
public:
    using Super::Super;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    void *malloc(std::size_t size) { return Super::malloc(rounded(size)); }
    void free(void *p) { Super::free(p); }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return Super::memalign(wanted, rounded(size));
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        return Super::reallocate(p, rounded(size));
    }

    std::size_t getSize(void *p) const
        requires SizedHeap<Super>
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
    static constexpr std::size_t rounded(std::size_t size) {
        return CAIRN_UNLIKELY(size > Classes::largest) ? size : Classes::size_of(Classes::class_of(size));
    }
};

template <class Classes>
struct Rounded {
    template <class Super>
    using on = RoundedHeap<Super, Classes>;
};

} // namespace cairn
