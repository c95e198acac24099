// SPDX-License-Identifier: MIT
//
// HeapResource: a heap as a std::pmr::memory_resource.
//
// Adds:    any heap for std::pmr::vector and other containers, chosen at run time.
// Needs:   a heap that outlives the resource: the resource refers to it and does not own it.
// Keeps:   every alignment is honoured. Two resources are equal if they refer to one heap; with -fno-rtti, where types
//          cannot be compared, a resource is equal to itself only.
// Threads: those of the heap.
// Errors:  std::bad_alloc.
// Cost:    a virtual call.
#pragma once

#include <cairn/adapt/overaligned.hpp>
#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <memory_resource>

namespace cairn {

template <Heap H>
class CAIRN_BY_EXCEPTIONS CAIRN_BY_RTTI HeapResource final : public std::pmr::memory_resource {
public:
    explicit HeapResource(H &heap) : heap_(&heap) {}

private:
    void *do_allocate(std::size_t bytes, std::size_t wanted) override {
        void *const block = malloc_aligned(*heap_, wanted, bytes == 0 ? 1 : bytes);
        if (block == nullptr) {
            platform::throw_out_of_memory();
        }
        return block;
    }

    void do_deallocate(void *p, std::size_t, std::size_t wanted) override { free_aligned(*heap_, p, wanted); }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
        if constexpr (platform::has_rtti) {
            const auto *const same = dynamic_cast<const HeapResource *>(&other);
            return same != nullptr && same->heap_ == heap_;
        } else {
            return this == &other;
        }
    }

    H *heap_;
};

} // namespace cairn
