// SPDX-License-Identifier: MIT
//
// The layers that watch: a heap under them is as good as without.
#include "suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

struct CheckRow : On<Check<>> {
    static constexpr bool reuses = false; // some blocks are held back
};

struct CheckHoldingNothingRow : On<Check<StopAtFault, 0>> {};

/// Over a heap that can do most things itself, from several threads at once.
struct CheckedMallocRow : Row<Compose<MallocHeap, Check<>>> {
    static constexpr bool thread_safe = true;
};

/// A check at every border of a general-purpose heap: none finds anything, and none is in another's way.
struct ChecksEverywhereRow : Row<Compose<MmapHeap>> {
    template <class Source>
    using Bin = Compose<Source, Check<>, Bump<>, Check<>, Freelist, Check<>, SizeHeader, Check<>>;
    template <class Source>
    using Over =
        Compose<Source, Check<>, SizeHeader, Check<>,
                Segregated<GeometricSizeClasses<4_KiB, 512>, Bin<Source>>, Check<>, Ansi, Check<>, Locked<>>;
    using Heap = Over<MmapHeap>;
    static Heap *create() { return new Heap; }
    static void destroy(Heap *heap) { delete heap; }
    static constexpr std::size_t alignment_for(std::size_t) { return alignment_of<Heap>; }
    static constexpr bool reuses = false;
    static constexpr bool thread_safe = true;
};

using CheckRows = testing::Types<CheckRow, CheckHoldingNothingRow, CheckedMallocRow, ChecksEverywhereRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Check, Conformance, CheckRows);

} // namespace cairn::conformance
