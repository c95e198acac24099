// SPDX-License-Identifier: MIT
//
// How a heap is described to the conformance suite: a row, a struct that derives from `Row<H>` and overrides
// what is different. Capabilities are not said here, the concepts find them.
#pragma once

#include "watched_source.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/source/mmap.hpp>

namespace cairn::conformance {

template <class H>
struct Row {
    using Heap = H;

    /// A member template `Over<Source>`, if there is one, is the same heap over another source of memory: the
    /// tests of what goes to and fro below need it.

    /// `create` makes a heap of its own each time. Not so where there is one for the whole process; `destroy` then
    /// says what it has to have given back.
    static constexpr bool has_many = true;
    static H *create() { return new H; }
    static void destroy(H *heap) { delete heap; }

    /// Every request of this size, 0: all sizes.
    static constexpr std::size_t fixed_size = 0;
    /// Requests up to here succeed, alone in a new heap.
    static constexpr std::size_t max_size = 1_GiB;
    /// The alignment of a block of `size` bytes.
    static constexpr std::size_t alignment_for(std::size_t) { return alignment_of<H>; }
    /// A freed block's memory is used again.
    static constexpr bool reuses = true;
    /// Destroying the heap gives back what is still live, too.
    static constexpr bool releases_live = false;
    /// malloc(0), free(nullptr), reallocate(p, 0) and so on mean what they mean in C.
    static constexpr bool c_semantics = false;
    /// Several threads may call at once, and free each other's blocks.
    static constexpr bool thread_safe = false;
};

/// The row of a composition: Stages on MmapHeap, and on any source.
template <class... Stages>
struct On : Row<Compose<MmapHeap, Stages...>> {
    template <class Source>
    using Over = Compose<Source, Stages...>;
};

template <class T>
concept OverAnySource = Heap<typename T::template Over<WatchedSource>>;

/// A heap of a row for the length of a scope.
template <class T>
class Instance {
public:
    Instance() : heap_(T::create()) {}
    ~Instance() { T::destroy(heap_); }
    Instance(const Instance &) = delete;
    Instance &operator=(const Instance &) = delete;

    typename T::Heap &operator*() const { return *heap_; }

private:
    typename T::Heap *heap_;
};

} // namespace cairn::conformance
