// SPDX-License-Identifier: MIT
//
// The layers that watch: a heap under them is as good as without.
#include "suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/debug/trace_file.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

inline constinit Usage usage;
inline constinit TraceFile<> trace(-1);

struct CheckRow : On<Check<>> {
    static constexpr bool reuses = false; // some blocks are held back
};

struct CheckHoldingNothingRow : On<Check<StopAtFault, 0>> {};

/// Over a heap that can do most things itself, from several threads at once.
struct CheckedMallocRow : Row<Compose<MallocHeap, Check<>>> {
    static constexpr std::size_t max_size = 16_MiB;
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
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr std::size_t alignment_for(std::size_t) { return alignment_of<Heap>; }
    static constexpr bool reuses = false;
    static constexpr bool thread_safe = true;
};

struct ProfileRow : Row<Compose<MmapHeap, Profile<usage>>> {};

/// Sizes that are known to the byte, over a heap that knows none.
struct SizeTableRow : On<Bump<>, SizeTable<>, Profile<usage>> {
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

struct TraceRow : Row<Compose<MallocHeap, SizeTable<>, Profile<usage>, Trace<trace>>> {
    static constexpr bool thread_safe = true;
};

using CheckRows = testing::Types<CheckRow, CheckHoldingNothingRow, CheckedMallocRow, ChecksEverywhereRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Check, Conformance, CheckRows);

using CountRows = testing::Types<ProfileRow, SizeTableRow, TraceRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Count, Conformance, CountRows);

} // namespace cairn::conformance
