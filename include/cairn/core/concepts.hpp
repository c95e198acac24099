// SPDX-License-Identifier: MIT
//
// Concepts: what a heap is, and its optional capabilities. Each capability is one concept on one operation, and
// constrains the template parameters of the layers that need it.
//
// Needs:   nothing.
// Keeps:   result types are exact and queries are const, so the compiler refuses a heap that nearly fits where the
//          layer is named, and not deep inside the layer. No exception specification is required: a heap reports "out
//          of memory" by nullptr, and a layer that throws instead is a heap too.
// Threads: none; each heap states which threads may use it.
// Cost:    none at run time.
// Source:  Heap Layers, section 3: a heap is a class with malloc and free. tests/conformance/ checks the two coding
//          guidelines: nullptr from below is passed up or handled, and destroying a heap gives back all that it holds.
//          getSize is the name that Heap Layers gives to the usable size of a block.
#pragma once

#include <cairn/core/bits.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cairn {

/// The alignment that C requires of malloc: that of any object without extended alignment.
inline constexpr std::size_t quantum = alignof(std::max_align_t);

/// The alignment of every block of H: `H::alignment` where the heap states one, otherwise that of C's malloc.
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

/// malloc(n): a block of at least n bytes, or nullptr; malloc(0) may return nullptr. free(p): frees p, a live block
/// that malloc of the same heap returned, not nullptr; no other block is affected. Each object of type H is a separate
/// heap; destroying it gives back what it holds. A layer derives from the heap below and inherits its constructors
/// (BufferHeap has one with parameters): so H is a class, and not final.
template <class H>
concept Heap = detail::MallocAndFree<H> && !detail::SaysStackOrder<H>;

/// A stack: free(p) frees p and every younger block, clear() frees all blocks. It declares this by a member type
/// `StackOrder`, and is not a Heap: a layer on a Heap frees blocks in any order.
template <class H>
concept StackHeap =
    detail::MallocAndFree<H> && detail::SaysStackOrder<H> && requires(H &h, const H &c, const void *p) {
        { h.clear() } -> std::same_as<void>;
        { c.owns(p) } -> std::same_as<bool>;
    };

/// getSize(p): the usable size of a live block, at least the requested one.
template <class H>
concept SizedHeap = Heap<H> && requires(const H &h, void *p) {
    { h.getSize(p) } -> std::same_as<std::size_t>;
};

/// The block records its own size, and getSize is static. `H::SizeRecord` names the form of the record.
template <class H>
concept SelfSizedHeap = SizedHeap<H> && requires(void *p) {
    typename H::SizeRecord;
    { H::getSize(p) } -> std::same_as<std::size_t>;
};

/// Each of the two heaps can read the size of the other's blocks.
template <class A, class B>
concept SameSizeRecord =
    SelfSizedHeap<A> && SelfSizedHeap<B> && std::same_as<typename A::SizeRecord, typename B::SizeRecord>;

namespace detail {
/// For a layer that leaves the size records of H as they are: has the member SizeRecord of H, if H has one.
template <class H>
struct SameRecordAs {};
template <SelfSizedHeap H>
struct SameRecordAs<H> {
    using SizeRecord = typename H::SizeRecord;
};
/// For a layer that derives from H and leaves its size records as they are: RecordOf<H> is H::SizeRecord, or
/// NoSizeRecord if H has none; the layer's getSize is then not static, so the layer is not a SelfSizedHeap either.
struct NoSizeRecord {
    using SizeRecord = NoSizeRecord;
};
template <class H>
using RecordOf = typename std::conditional_t<SelfSizedHeap<H>, SameRecordAs<H>, NoSizeRecord>::SizeRecord;
} // namespace detail

/// clear(): frees every block at once; the heap is then in its initial state. A layer whose clear() frees its memory to
/// the heap below also clears that heap where it can be cleared, because free of the heap below may do nothing.
template <class H>
concept ClearableHeap = Heap<H> && requires(H &h) {
    { h.clear() } -> std::same_as<void>;
};

/// memalign(a, n): a block of n bytes at a multiple of a, a power of two; free(p) frees it.
template <class H>
concept AlignedHeap = Heap<H> && requires(H &h, std::size_t a, std::size_t n) {
    { h.memalign(a, n) } -> std::same_as<void *>;
};

/// reallocate(p, n): a block of n bytes, n > 0, with the contents of p, at p or elsewhere. nullptr: p is unchanged.
template <class H>
concept ReallocatingHeap = Heap<H> && requires(H &h, void *p, std::size_t n) {
    { h.reallocate(p, n) } -> std::same_as<void *>;
};

/// malloc_zeroed(n): a block whose first n bytes are zero.
template <class H>
concept ZeroingHeap = Heap<H> && requires(H &h, std::size_t n) {
    { h.malloc_zeroed(n) } -> std::same_as<void *>;
};

/// calloc(count, size): a zeroed array, as C's calloc; nullptr where count * size does not fit into a size_t.
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
/// Whether p is a block of a layer that puts a header of `header` bytes before each block, inside a longer block of
/// `heap`. A `heap` that knows its blocks by address ranges also owns the address `header` bytes before the end of a
/// range; there p is the end of the range, where a block of another heap may begin, and p itself is in no range of
/// `heap`.
template <class H>
bool owns_behind_header(const H &heap, const void *p, std::size_t header) {
    // By numbers: p may be any pointer, and no object may lie before it.
    const auto before = [p](std::size_t bytes) {
        return reinterpret_cast<const void *>(address_of(p) - bytes);
    };
    return heap.owns(before(header)) && (heap.owns(p) || !heap.owns(before(1)));
}
} // namespace detail

/// remaining(): the largest request that would succeed now; 0 also when no request would succeed, not even malloc(0).
template <class H>
concept BoundedHeap = Heap<H> && requires(const H &h) {
    { h.remaining() } -> std::same_as<std::size_t>;
};

/// free(p) also accepts a block of another heap of the same type, and keeps it for reuse. Such a heap depends neither
/// on the neighbours of the block nor on the memory that the other heap took from below. A heap declares this by a
/// constant `takes_others`; a layer that passes blocks on from below declares what the heap below does.
template <class H>
concept TakesOthers = Heap<H> && requires { requires H::takes_others; };

/// For a layer that keeps freed blocks and gives them back to H only in its destructor: it accepts blocks of others if
/// H does, or if H can be cleared: clear() of the layer, called before its destructor, drops the kept blocks.
template <class H>
concept KeepsOthers = TakesOthers<H> || ClearableHeap<H>;

} // namespace cairn
