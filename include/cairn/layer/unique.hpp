// SPDX-License-Identifier: MIT
//
// UniqueHeap: all objects of this type stand for one shared heap, so that several layers, or several objects, allocate
// from it.
//
//     using Pages = UniqueHeap<BumpHeap<MmapHeap>>;
//     FreelistHeap<Pages> nodes, edges;   // one region below both
//
// Adds:    sharing; lock_all and unlock_all where the shared heap has them; every capability of the shared heap except
//          clear, which would free the blocks of all users, and owns, by which a layer above would take the blocks of
//          other users for its own.
// Needs:   a heap with a constexpr constructor. Types with different `Tag` have different heaps. Over blocks with
//          boundary tags no layer above may join: put Unique below CoalesceableHeap, or above CoalesceHeap.
// Keeps:   the shared heap is constant-initialised and never destroyed, so an object with static storage may use it at
//          any time. Destroying a UniqueHeap therefore gives nothing back: memory that the layers above return stays in
//          the shared heap for other users until the process ends. The linker refuses a program in which one source
//          file uses the heap with assertions and another one without. A program and its shared libraries share the
//          heap, but each that is compiled with -fvisibility=hidden has a heap of its own.
// Threads: those of the shared heap. Users in several threads need a shared heap that locks (LockedHeap).
// Errors:  those of the shared heap.
// Cost:    none: an object is empty, and a call is a call of an object at a constant address.
// Source:  Heap Layers, Table 1: UniqueHeap.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/core/immortal.hpp>
#include <cairn/layer/boundary_tag.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/random.hpp>
#include <cairn/sync/across_fork.hpp>

namespace cairn {

namespace detail {
/// Makes the linker refuse a program in which the heap is used both with and without assertions (CAIRN_BY_CHECKS):
/// these would be two heaps, and a block of one might be freed to the other.
template <class Tag, std::uint64_t Name>
[[gnu::used]] inline CAIRN_THREAD_LOCAL_IF_CHECKED constinit char files_with_and_without_ndebug_share_a_heap =
    0;
} // namespace detail

template <Heap Super, class Tag = void>
class UniqueHeap : public detail::SameRecordAs<Super> {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>;
    /// No layer above may join: the neighbour of a block may be held by a layer on another UniqueHeap.
    static constexpr bool joins = TaggedHeap<Super>;
    static constexpr bool takes_others = true; ///< all objects of this type are one heap

    static void *malloc(std::size_t size) { return it().malloc(size); }
    static void free(void *p) { it().free(p); }

    static std::size_t getSize(void *p)
        requires SizedHeap<Super>
    {
        return it().getSize(p);
    }

    static void *memalign(std::size_t wanted, std::size_t size)
        requires AlignedHeap<Super>
    {
        return it().memalign(wanted, size);
    }

    static void *reallocate(void *p, std::size_t size)
        requires ReallocatingHeap<Super>
    {
        return it().reallocate(p, size);
    }

    static void *malloc_zeroed(std::size_t size)
        requires ZeroingHeap<Super>
    {
        return it().malloc_zeroed(size);
    }

    static void *calloc(std::size_t count, std::size_t size)
        requires ArrayHeap<Super>
    {
        return it().calloc(count, size);
    }

    /// Whether p is a block of the shared heap, allocated through any UniqueHeap of this type.
    static bool shared_heap_owns(const void *p)
        requires OwningHeap<Super>
    {
        return it().owns(p);
    }

    static std::size_t remaining()
        requires BoundedHeap<Super>
    {
        return it().remaining();
    }

    /// Locks the shared heap before a fork, after the locks of the heaps above. The forking thread may call it through
    /// several UniqueHeaps: the first call locks and the last one unlocks. Only layers without locks of their own pass
    /// the call on (SizeHeader, Ansi): two layers with locks would take this lock between theirs, and the fork could
    /// deadlock.
    static void lock_all()
        requires sync::ForkLocks<Super>
    {
        if (held_++ == 0) {
            it().lock_all();
        }
    }
    static void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        if (--held_ == 0) {
            it().unlock_all(side);
        }
    }

private:
    static Super &it() {
        static_cast<void>(&detail::files_with_and_without_ndebug_share_a_heap<Tag, name()>);
        return the_.object;
    }

    /// A hash of the type's name, equal in all source files: compilers print types without their ABI tags.
    static consteval std::uint64_t name() {
        std::uint64_t hash = 0;
        for (const char *c = __PRETTY_FUNCTION__; *c != 0; ++c) {
            hash = platform::mix(hash + static_cast<unsigned char>(*c));
        }
        return hash;
    }

    static inline constinit Immortal<Super> the_{};
    static inline constinit thread_local unsigned held_ = 0; ///< calls of lock_all() by the thread that forks
};

template <class Tag = void>
struct Unique {
    template <class Super>
    using on = UniqueHeap<Super, Tag>;
};

} // namespace cairn
