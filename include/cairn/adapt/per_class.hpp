// SPDX-License-Identifier: MIT
//
// PerClassHeap: a class whose objects are allocated on a heap of their own. The class itself is not changed:
//
//     class FasterFoo : public PerClassHeap<Foo, Compose<MmapHeap, Bump<>, Freelist>> { ... };
//
// Adds:    operator new and delete in every form, for the objects of `Object` and of classes derived from it.
// Needs:   a class that is not final; a heap, which all objects share through a UniqueHeap. `Takes` says which requests
//          go to the heap: only objects of exactly this class's size and alignment (`one_size`: pools), or all requests
//          (`any_size`), also arrays and larger derived classes. Other requests go to the global operator new.
// Keeps:   delete decides by size and alignment, as new did, so each object is freed where it was allocated. As always
//          in C++, deleting through a base class needs a virtual destructor. When a constructor throws, operator delete
//          gets no size: with a pool that is not owning the nothrow forms are missing for this reason, and the block of
//          an over-aligned object is lost.
// Threads: those of the heap.
// Errors:  std::bad_alloc; nullptr of the nothrow forms. When the heap is out of memory no new-handler is called.
// Cost:    that of the heap. The compiler knows the size where it knows the class.
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
class CAIRN_BY_EXCEPTIONS PerClassHeap : public Object {
    /// A tag that does not contain the name of H, which differs in files with assertions.
    using Shared = UniqueHeap<H, std::integral_constant<PerClassTakes, Takes> Object::*>;
    static constexpr bool any_size_ = Takes == PerClassTakes::any_size;
    /// Whether operator delete can decide without a size where an object is freed.
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
    // Called when a constructor throws in a nothrow new: the size is not passed.
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

    // Called when a constructor throws in the new of an over-aligned object; the compiler uses this form and no other.
    // A template, because delete would otherwise prefer it, without the size; inlined, because g++ -O0 would otherwise
    // warn that it does not match new.
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

    // Placement new, which the forms above would hide.
    static void *operator new(std::size_t, void *where) noexcept { return where; }
    static void operator delete(void *, void *) noexcept {}

private:
    /// The alignment of the forms that have no parameter for it.
    static constexpr std::align_val_t plain_{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

    static constexpr bool takes(std::size_t size, std::align_val_t wanted) {
        constexpr std::align_val_t own{alignof(PerClassHeap)};
        return any_size_ || (size == sizeof(PerClassHeap) && wanted == (own > plain_ ? own : plain_));
    }

    /// The alignment that is requested of the heap: blocks of a pool of small objects need not be aligned for larger
    /// ones.
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
