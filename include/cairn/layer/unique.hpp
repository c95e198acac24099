// SPDX-License-Identifier: MIT
//
// UniqueHeap: every object of this type is a name for one and the same heap, so that several layers, or several
// objects, draw from it.
//
//     using Pages = UniqueHeap<BumpHeap<MmapHeap>>;
//     FreelistHeap<Pages> nodes, edges;   // one region below both
//
// Adds:    sharing; lock_all and unlock_all where the shared heap has them. Every capability of the shared heap but clear, which
//          would take the blocks of all others, and owns, by which a heap above would take them for its own.
// Needs:   a heap with a constexpr constructor. `Tag` tells apart what would otherwise be one heap. Above blocks with boundary
//          tags no layer may join: put Unique below CoalesceableHeap, or above CoalesceHeap.
// Keeps:   the shared heap is there before the first constructor runs and is never destroyed, so an object with
//          static storage may use it at any time. Destroying a UniqueHeap therefore gives nothing back: what the
//          layers above return stays in the shared heap for the next user, to the end of the process.
//          Files that name one heap all have assertions or none, or the linker refuses the program.
// Threads: those of the shared heap. Users in several threads need one that locks (LockedHeap).
// Errors:  those of the shared heap.
// Cost:    none: an object is empty, and a call is that of an object with a known address.
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
/// Not to be linked in two kinds, by which it would be two heaps (CAIRN_BY_CHECKS): a block of one would go to the other.
template <class Tag, std::uint64_t Name>
[[gnu::used]] inline CAIRN_THREAD_LOCAL_IF_CHECKED constinit char files_with_and_without_ndebug_share_a_heap =
    0;
} // namespace detail

template <Heap Super, class Tag = void>
class UniqueHeap : public detail::SameRecordAs<Super> {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;
    static constexpr bool marked = MarksAll<Super>, marks = MayMark<Super>;
    /// Whoever joins above: the neighbour of a block may be free in what stands on another name.
    static constexpr bool joins = TaggedHeap<Super>;
    static constexpr bool takes_others = true; ///< of this type: they are the same heap's

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

    /// Whether p is a block of the shared heap, of whatever name.
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

    /// For who forks, by several names if need be; after the locks of the heaps above. One of those may pass it on (SizeHeader,
    /// Ansi): two that lock by themselves would have this lock between theirs, and the fork may never come.
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

    /// Alike in all files: compilers write types without the tags of their binary interface.
    static consteval std::uint64_t name() {
        std::uint64_t hash = 0;
        for (const char *c = __PRETTY_FUNCTION__; *c != 0; ++c) {
            hash = platform::mix(hash + static_cast<unsigned char>(*c));
        }
        return hash;
    }

    static inline constinit Immortal<Super> the_{};
    static inline constinit thread_local unsigned held_ = 0; ///< across a fork, by the thread that does
};

template <class Tag = void>
struct Unique {
    template <class Super>
    using on = UniqueHeap<Super, Tag>;
};

} // namespace cairn
