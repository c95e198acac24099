// SPDX-License-Identifier: MIT
//
// Process heap: the one heap of a process whose malloc is an allocator of the family. CAIRN_ALLOCATOR names the header
// of this folder that says which.
//
// Adds:    C's semantics, and what src/malloc/ expects of its heap.
// Needs:   cairn::process_heap::Allocator: a heap that is sized and aligned, whose every operation any thread may
//          call, constant-initialised; with lock_all and unlock_all if it has locks, and trim and statistics if it can.
// Threads: any.
#pragma once

#include <src/malloc/process.hpp>

#include <cairn/adapt/ansi.hpp>
#include <cairn/core/immortal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/vm.hpp>

#include <utility>

#include CAIRN_ALLOCATOR

namespace cairn::process_heap {

static_assert(SizedHeap<Allocator> && AlignedHeap<Allocator>, "what a malloc owes");

/// Frees come until the process is gone.
extern constinit Immortal<Allocator> immortal;

/// The one allocator as a heap below others. It has no state, so they have none.
template <class A, Immortal<A> &One>
class TheOne {
public:
    static constexpr std::size_t alignment = alignment_of<A>;

    static void *malloc(std::size_t size) { return One.object.malloc(size); }
    static void free(void *p) { One.object.free(p); }
    static std::size_t getSize(void *p) { return std::as_const(One.object).getSize(p); }
    static void *memalign(std::size_t wanted, std::size_t size) { return One.object.memalign(wanted, size); }
    static void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<A>
    {
        return One.object.reallocate(p, size);
    }
    static void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<A>
    {
        return One.object.malloc_zeroed(size);
    }
};

class Heap : public AnsiHeap<TheOne<Allocator, immortal>> {
public:
    /// There is no way through these heaps that is worth inlining into malloc.
    void *try_malloc(std::size_t size) { return malloc(size); }
    static void *try_malloc_medium(std::size_t) { return nullptr; }
    static void *malloc_slow(std::size_t) { return nullptr; }
    void *try_memalign(std::size_t wanted, std::size_t size) { return memalign(wanted, size); }
    static void *memalign_slow(std::size_t, std::size_t) { return nullptr; }
    static std::size_t quick_size(void *) { return 0; }
    static bool stays(std::size_t, std::size_t) { return false; }
    void *reallocate_slow(void *p, std::size_t, std::size_t size) { return reallocate(p, size); }
    void *try_malloc_zeroed(std::size_t size) { return malloc_zeroed(size); }
    static void *malloc_zeroed_slow(std::size_t) { return nullptr; }
};

inline constinit Heap heap;

} // namespace cairn::process_heap
