// SPDX-License-Identifier: MIT
//
// ThrowExceptionHeap: throws std::bad_alloc instead of returning nullptr.
//
// Adds:    the exception. The layer has exactly the capabilities of the heap below, and the way sizes are recorded.
// Needs:   a heap. Not for use inside a malloc: the C++ runtime allocates the exception object.
// Keeps:   no operation returns nullptr, except for a request of 0 bytes, where nullptr does not mean out of memory. A
//          block whose reallocate throws is unchanged.
// Threads: those of the heap below, whose locks are held across a fork where it can hold them.
// Errors:  std::bad_alloc.
// Cost:    a comparison.
// Source:  Heap Layers, Table 1: ThrowExceptionHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

template <Heap Super>
class CAIRN_BY_EXCEPTIONS ThrowExceptionHeap : private Super {
public:
    using Super::Super;
    using SizeRecord = detail::RecordOf<Super>;
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>, joins = Joins<Super>;
    static constexpr bool takes_others = TakesOthers<Super>;

    void *malloc(std::size_t size) { return some(Super::malloc(size), size); }
    void free(void *p) { Super::free(p); }

    void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return some(Super::memalign(wanted, size), size);
    }

    void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        return some(Super::reallocate(p, size), size);
    }

    void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return some(Super::malloc_zeroed(size), size);
    }

    void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        return some(Super::calloc(count, size), count == 0 ? 0 : size);
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

    std::size_t remaining() const
        requires BoundedHeap<Super>
    {
        return Super::remaining();
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
    static void *some(void *block, std::size_t size) {
        if (CAIRN_UNLIKELY(block == nullptr && size != 0)) {
            platform::throw_out_of_memory();
        }
        return block;
    }
};

struct ThrowException {
    template <class Super>
    using on = ThrowExceptionHeap<Super>;
};

} // namespace cairn
