// SPDX-License-Identifier: MIT
//
// Concepts: what a heap is, and what more it may be able to do. Each capability is one concept on one
// operation, and guards the template parameters of the layers that need it.
//
// Needs:   nothing.
// Keeps:   result types are exact and questions are const, so a near miss is refused at the layer's name and
//          not deep inside of it. An exception specification is not asked for: a heap reports "out of memory"
//          by nullptr, and a layer that throws instead is a heap too.
// Threads: none: what a heap allows is said by each heap.
// Cost:    none at run time.
// Source:  Heap Layers, section 3: a heap is what has malloc and free; the two coding guidelines (nullptr
//          from below is passed up or handled, destroying a heap gives back all it holds) are checked by
//          tests/conformance/.
#pragma once

#include <cairn/core/bits.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cairn {

/// What C's malloc owes every block: room for any ordinary object.
inline constexpr std::size_t quantum = alignof(std::max_align_t);

/// The alignment of every block of H: `H::alignment` where the heap states one, else that of C's malloc.
template <class H>
inline constexpr std::size_t alignment_of = quantum;

template <class H>
    requires requires { H::alignment; }
inline constexpr std::size_t alignment_of<H> = H::alignment;

namespace detail {
template <class H>
concept MallocAndFree = std::is_class_v<H> && !std::is_final_v<H> && std::destructible<H> &&
                        is_power_of_two(alignment_of<H>) && requires(H &h, std::size_t n, void *p) {
                            { h.malloc(n) } -> std::same_as<void *>;
                            { h.free(p) } -> std::same_as<void>;
                        };
template <class H>
concept SaysStackOrder = requires { typename H::StackOrder; };
} // namespace detail

/// malloc(n): a block of at least n bytes, or nullptr. free(p): p came from malloc of the same heap, is live,
/// and is not nullptr; other blocks stay. malloc(0) may return nullptr. An object of type H is a heap of its
/// own; destroying it gives back what it holds. Layers derive from the heap below, and pass its constructors on
/// (BufferHeap's): it is a class, and not final.
template <class H>
concept Heap = detail::MallocAndFree<H> && !detail::SaysStackOrder<H>;

/// A stack: free(p) takes p and every younger block, clear() takes all. It says so by a type `StackOrder`, and is
/// no Heap: what stands on a Heap frees in an order of its own.
template <class H>
concept StackHeap =
    detail::MallocAndFree<H> && detail::SaysStackOrder<H> && requires(H &h, const H &c, const void *p) {
        { h.clear() } -> std::same_as<void>;
        { c.owns(p) } -> std::same_as<bool>;
    };

/// getSize(p): the bytes of a live block that may be used, at least what was asked for.
template <class H>
concept SizedHeap = Heap<H> && requires(const H &h, void *p) {
    { h.getSize(p) } -> std::same_as<std::size_t>;
};

/// The block itself tells its size, whoever is asked. `H::SizeRecord` names the way in which it is recorded.
template <class H>
concept SelfSizedHeap = SizedHeap<H> && requires(void *p) {
    typename H::SizeRecord;
    { H::getSize(p) } -> std::same_as<std::size_t>;
};

/// Either heap can tell the size of the other's blocks.
template <class A, class B>
concept SameSizeRecord =
    SelfSizedHeap<A> && SelfSizedHeap<B> && std::same_as<typename A::SizeRecord, typename B::SizeRecord>;

namespace detail {
/// A heap's way to record sizes, where it has one, as the member of a layer that does not change it.
template <class H>
struct SameRecordAs {};
template <SelfSizedHeap H>
struct SameRecordAs<H> {
    using SizeRecord = typename H::SizeRecord;
};
/// The same for a layer that derives from H: a type of its own where there is none, with which it is no SelfSizedHeap.
struct NoSizeRecord {
    using SizeRecord = NoSizeRecord;
};
template <class H>
using RecordOf = typename std::conditional_t<SelfSizedHeap<H>, SameRecordAs<H>, NoSizeRecord>::SizeRecord;
} // namespace detail

/// clear(): every block is gone at once, and the heap is as new. A layer that frees what it has below clears the heap
/// below too where it can: a free there need not give anything back.
template <class H>
concept ClearableHeap = Heap<H> && requires(H &h) {
    { h.clear() } -> std::same_as<void>;
};

/// memalign(a, n): a block of n bytes at a multiple of a, a power of two; free takes it.
template <class H>
concept AlignedHeap = Heap<H> && requires(H &h, std::size_t a, std::size_t n) {
    { h.memalign(a, n) } -> std::same_as<void *>;
};

/// reallocate(p, n): the contents of p in a block of n bytes, n > 0, maybe moved. nullptr: p is as it was.
template <class H>
concept ReallocatingHeap = Heap<H> && requires(H &h, void *p, std::size_t n) {
    { h.reallocate(p, n) } -> std::same_as<void *>;
};

/// malloc_zeroed(n): a block whose first n bytes are zero.
template <class H>
concept ZeroingHeap = Heap<H> && requires(H &h, std::size_t n) {
    { h.malloc_zeroed(n) } -> std::same_as<void *>;
};

/// calloc(count, size): C's, a zeroed array; nullptr where count * size does not fit.
template <class H>
concept ArrayHeap = Heap<H> && requires(H &h, std::size_t count, std::size_t size) {
    { h.calloc(count, size) } -> std::same_as<void *>;
};

/// owns(p): true for a live block of this heap, false for one of another heap.
template <class H>
concept OwningHeap = Heap<H> && requires(const H &h, const void *p) {
    { h.owns(p) } -> std::same_as<bool>;
};

namespace detail {
/// Whether p is a block of a layer that puts `header` bytes before it, into a block of `heap` that is longer than that. A
/// heap that knows its blocks by ranges also has what lies `header` bytes before the end of a range, where a block of
/// another heap may begin: there p itself is in no range.
template <class H>
bool owns_behind_header(const H &heap, const void *p, std::size_t header) {
    const auto *const bytes = static_cast<const char *>(p);
    return heap.owns(bytes - header) && (heap.owns(bytes) || !heap.owns(bytes - 1));
}
} // namespace detail

/// remaining(): the largest request that will now succeed; 0 also where none does, not even one of nothing.
template <class H>
concept BoundedHeap = Heap<H> && requires(const H &h) {
    { h.remaining() } -> std::same_as<std::size_t>;
};

/// free takes a block of another heap of the same type too, and keeps it: it knows nothing of the block's neighbours, nor of the
/// memory that the other has from below. A heap of which that is true says so (`takes_others`), also a layer that hands blocks
/// on from below.
template <class H>
concept TakesOthers = Heap<H> && requires { requires H::takes_others; };

/// So it is with one that gives what it keeps below only when it is destroyed, if clear makes it forget that before.
template <class H>
concept KeepsOthers = TakesOthers<H> || ClearableHeap<H>;

} // namespace cairn
