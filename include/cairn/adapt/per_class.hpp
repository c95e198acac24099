// SPDX-License-Identifier: MIT
//
// PerClassHeap: a class whose objects live on a heap of their own. The class itself is not changed:
//
//     class FasterFoo : public PerClassHeap<Foo, Compose<MmapHeap, Bump<>, Freelist>> { ... };
//
// Adds:    operator new and delete in every form, for the objects of `Object` and of classes derived from it.
// Needs:   a class that is not final; a heap, one for all objects, shared as UniqueHeap shares it. `Takes` says
//          what it takes: only objects of exactly this class's size and alignment (`one_size`: pools), or
//          everything (`any_size`), arrays and larger derived classes too. What it does not take goes to the
//          global operator new.
// Keeps:   what delete does follows from size and alignment as new had them, so each object goes back to where
//          it came from. As always in C++, deleting through a base needs its destructor to be virtual. A heap
//          that could not tell whose block it is when a constructor throws (a pool that is not owning) has no
//          nothrow form, and then loses the block of an over-aligned object.
// Threads: those of the heap.
// Errors:  std::bad_alloc; nullptr of the nothrow forms. The heap being out of memory calls no new-handler.
// Cost:    the heap's. The size is known to the compiler where the class is.
// Source:  Heap Layers, section 3.1: PerClassHeap.
#pragma once

#include <cairn/adapt/overaligned.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <concepts>
#include <new>
#include <type_traits>

namespace cairn {

enum class PerClassTakes { one_size, any_size };

template <class Object, Heap H, PerClassTakes Takes = PerClassTakes::one_size>
    requires(std::is_class_v<Object> && !std::is_final_v<Object>)
class PerClassHeap : public Object {
    /// A tag without the name of H, which is another one in files with assertions.
    using Shared = UniqueHeap<H, std::integral_constant<PerClassTakes, Takes> Object::*>;
    static constexpr bool any_size_ = Takes == PerClassTakes::any_size;
    /// The heap can say whether an object is its own.
    static constexpr bool heap_owns_its_blocks_or_takes_any_size_ =
        any_size_ || (OwningHeap<H> && (AlignedHeap<H> || alignof(Object) <= alignment_of<H>));

public:
    using Object::Object;
    PerClassHeap() = default;

    static void *operator new(std::size_t size) { return get(size, plain_); }
    static void *operator new(std::size_t size, std::align_val_t wanted) { return get(size, wanted); }
    static void operator delete(void *p, std::size_t size) noexcept { put(p, size, plain_); }
    static void operator delete(void *p, std::size_t size, std::align_val_t wanted) noexcept {
        put(p, size, wanted);
    }

    static void *operator new[](std::size_t size) { return get(size, plain_); }
    static void *operator new[](std::size_t size, std::align_val_t wanted) { return get(size, wanted); }
    static void operator delete[](void *p, std::size_t size) noexcept { put(p, size, plain_); }
    static void operator delete[](void *p, std::size_t size, std::align_val_t wanted) noexcept {
        put(p, size, wanted);
    }

    static void *operator new(std::size_t size, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        return try_get(size, plain_);
    }
    static void *operator new(std::size_t size, std::align_val_t wanted, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        return try_get(size, wanted);
    }
    static void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        return try_get(size, plain_);
    }
    static void *operator new[](std::size_t size, std::align_val_t wanted, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        return try_get(size, wanted);
    }
    // For a constructor that throws in a nothrow new: nobody says the size.
    static void operator delete(void *p, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        put(p, plain_);
    }
    static void operator delete(void *p, std::align_val_t wanted, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        put(p, wanted);
    }
    static void operator delete[](void *p, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        put(p, plain_);
    }
    static void operator delete[](void *p, std::align_val_t wanted, const std::nothrow_t &) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        put(p, wanted);
    }

    // For a constructor that throws in the new of an over-aligned object, which looks for this form and no other. A
    // template, or delete would call it, without the size; inlined, or g++ warns of it at -O0 as no match for new.
    template <std::same_as<std::align_val_t> A>
        requires heap_owns_its_blocks_or_takes_any_size_
    CAIRN_INLINE static void operator delete(void *p, A wanted) noexcept {
        put(p, wanted);
    }
    template <std::same_as<std::align_val_t> A>
        requires heap_owns_its_blocks_or_takes_any_size_
    CAIRN_INLINE static void operator delete[](void *p, A wanted) noexcept {
        put(p, wanted);
    }

    // The forms above hide this one: an object in memory that is there already.
    static void *operator new(std::size_t, void *where) noexcept { return where; }
    static void operator delete(void *, void *) noexcept {}

private:
    /// What the forms without an alignment stand for.
    static constexpr std::align_val_t plain_{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

    static constexpr bool takes(std::size_t size, std::align_val_t wanted) {
        constexpr std::align_val_t own{alignof(PerClassHeap)};
        return any_size_ || (size == sizeof(PerClassHeap) && wanted == (own > plain_ ? own : plain_));
    }

    /// What is asked of the heap: a pool of small objects need not be aligned for larger ones.
    static constexpr std::size_t alignment_here(std::align_val_t wanted) {
        return any_size_ ? static_cast<std::size_t>(wanted) : alignof(PerClassHeap);
    }

    static void *ask(std::size_t size, std::align_val_t wanted) {
        Shared heap;
        return takes(size, wanted) ? malloc_aligned(heap, alignment_here(wanted), size)
                                   : ::operator new(size, wanted, std::nothrow);
    }

    static void *try_get(std::size_t size, std::align_val_t wanted) noexcept {
        return platform::null_for_bad_alloc([&] { return ask(size, wanted); });
    }
    static void *get(std::size_t size, std::align_val_t wanted) {
        void *const block = ask(size, wanted);
        if (CAIRN_UNLIKELY(block == nullptr)) {
            platform::throw_out_of_memory();
        }
        return block;
    }

    static void put_here(void *p, std::align_val_t wanted) noexcept {
        Shared heap;
        free_aligned(heap, p, alignment_here(wanted));
    }

    static void put(void *p, std::size_t size, std::align_val_t wanted) noexcept {
        if (!takes(size, wanted)) {
            ::operator delete(p, wanted);
        } else if (p != nullptr) {
            put_here(p, wanted);
        }
    }

    static void put(void *p, std::align_val_t wanted) noexcept
        requires heap_owns_its_blocks_or_takes_any_size_
    {
        if constexpr (!any_size_) {
            if (!Shared::shared_heap_owns(p)) {
                ::operator delete(p, wanted);
                return;
            }
        }
        put_here(p, wanted);
    }
};

} // namespace cairn
