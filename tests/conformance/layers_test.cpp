// SPDX-License-Identifier: MIT
//
// Each layer alone on a source, and compositions of several.
#include "suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>

namespace cairn::conformance {

/// A row of a composition: Stages on MmapHeap, and for the tests of what is below on any source.
template <class... Stages>
struct On : Row<Compose<MmapHeap, Stages...>> {
    template <class Source>
    using Over = Compose<Source, Stages...>;
};

struct FreelistRow : On<Freelist> {
    static constexpr std::size_t fixed_size = 48;
};

struct TinyFreelistRow : On<Bump<4_KiB>, Freelist> {
    static constexpr std::size_t fixed_size = 1; // less than the link of a free block
    static constexpr bool releases_live = true;
};

struct BumpRow : On<Bump<>> {
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

/// Chunks so small that most requests get one of their own.
struct SmallBumpRow : On<Bump<256>> {
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

struct SizeHeaderRow : On<SizeHeader> {};

struct LockedRow : On<Locked<>> {
    static constexpr bool thread_safe = true;
};

struct LockedByMutexRow : On<Locked<std::mutex>> {
    static constexpr bool thread_safe = true;
};

struct AnsiRow : On<SizeHeader, Ansi> {
    static constexpr bool c_semantics = true;
};

/// On a heap that brings memalign, reallocate and malloc_zeroed itself.
struct AnsiOnMallocRow : Row<Compose<MallocHeap, Ansi>> {
    static constexpr bool c_semantics = true;
};

using Classes = GeometricSizeClasses<32_KiB, 1_KiB>;

/// Another generator of size classes.
struct PowersOfTwo {
    static constexpr std::size_t count = 12;
    static constexpr std::size_t largest = 16_KiB;
    static constexpr unsigned class_of(std::size_t n) { return n <= 8 ? 0 : log2_floor(n - 1) - 2; }
    static constexpr std::size_t size_of(unsigned c) { return std::size_t{8} << c; }
};

template <class Source>
using Bin = Compose<Source, Bump<>, Freelist, SizeHeader>;

struct HybridRow : Row<Compose<MmapHeap, SizeHeader, Hybrid<100, Compose<MmapHeap, Bump<>, SizeHeader>>>> {
    template <class Source>
    using Over = Compose<Source, SizeHeader, Hybrid<100, Compose<Source, Bump<>, SizeHeader>>>;
    static constexpr bool reuses = false;
};

/// Told apart by who owns the block.
struct HybridByOwnerRow : Row<Compose<MmapHeap, Hybrid<256, Compose<MmapHeap, Bump<>>>>> {
    template <class Source>
    using Over = Compose<Source, Hybrid<256, Compose<Source, Bump<>>>>;
    static constexpr bool reuses = false;
};

template <class C>
struct SegregatedRow : Row<Compose<MmapHeap, SizeHeader, Segregated<C, Bin<MmapHeap>>>> {
    template <class Source>
    using Over = Compose<Source, SizeHeader, Segregated<C, Bin<Source>>>;
};

struct WholeRow : Row<Compose<MmapHeap, SizeHeader, Segregated<Classes, Bin<MmapHeap>>, Ansi, Locked<>>> {
    template <class Source>
    using Over = Compose<Source, SizeHeader, Segregated<Classes, Bin<Source>>, Ansi, Locked<>>;
    static constexpr bool c_semantics = true;
    static constexpr bool thread_safe = true;
};

struct InABufferRow : Row<Compose<StaticBufferHeap<4_MiB>, Bump<4_KiB>, Freelist>> {
    static constexpr std::size_t fixed_size = 200;
};

using Layers = testing::Types<FreelistRow, TinyFreelistRow, BumpRow, SmallBumpRow, SizeHeaderRow, LockedRow,
                              LockedByMutexRow, AnsiRow, AnsiOnMallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Layers, Conformance, Layers);

using Combined = testing::Types<HybridRow, HybridByOwnerRow, SegregatedRow<Classes>,
                                SegregatedRow<PowersOfTwo>, WholeRow, InABufferRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Combined, Conformance, Combined);

} // namespace cairn::conformance
