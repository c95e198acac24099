// SPDX-License-Identifier: MIT
//
// StdAllocator: a heap for the containers of the standard library.
//
// Adds:    allocate and deallocate of T, for std::vector<T, StdAllocator<T, H>> and the like.
// Needs:   a heap that outlives the containers on it: an allocator refers to the heap and does not own it.
// Keeps:   two allocators are equal if they refer to one heap. Over-aligned types are aligned. A container stays on its
//          heap: when a container on another heap is assigned to it, the elements are copied, or moved one by one; two
//          containers that are swapped must be on one heap. This is as with std::pmr; but a copy-constructed container
//          is on the heap of the original.
// Threads: those of the heap.
// Errors:  std::bad_alloc; std::bad_array_new_length if n objects do not fit into a size_t.
// Cost:    a pointer in the container.
#pragma once

#include <cairn/adapt/overaligned.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <new>
#include <type_traits>

namespace cairn {

template <class T, Heap H>
class CAIRN_BY_EXCEPTIONS StdAllocator {
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::false_type;
    using is_always_equal = std::false_type;

    // Not explicit, as that of std::pmr::polymorphic_allocator: a container can be constructed from a heap.
    StdAllocator(H &heap) noexcept : heap_(&heap) {}
    template <class U>
    StdAllocator(const StdAllocator<U, H> &other) noexcept : heap_(&other.heap()) {}

    [[nodiscard]] T *allocate(std::size_t n) {
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(n, sizeof(T), &bytes)) {
            platform::throw_out_of_memory<std::bad_array_new_length>();
        }
        void *const block = malloc_aligned(*heap_, alignof(T), bytes == 0 ? 1 : bytes);
        if (block == nullptr) {
            platform::throw_out_of_memory();
        }
        return static_cast<T *>(block);
    }

    void deallocate(T *p, std::size_t) noexcept { free_aligned(*heap_, p, alignof(T)); }

    H &heap() const noexcept { return *heap_; }

private:
    H *heap_;
};

template <class T, class U, class H>
bool operator==(const StdAllocator<T, H> &a, const StdAllocator<U, H> &b) noexcept {
    return &a.heap() == &b.heap();
}

} // namespace cairn
