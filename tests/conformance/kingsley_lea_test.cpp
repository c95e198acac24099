// SPDX-License-Identifier: MIT
//
// The allocators of Heap Layers, section 6, as they are and in the form for many threads.
#include "suite.hpp"

#include <allocators/kingsley.hpp>
#include <allocators/kingsley_coalescing.hpp>
#include <allocators/lea.hpp>

namespace cairn::conformance {

template <class OneSource>
struct KingsleyOverOne : KingsleyParameters {
    using Source = OneSource;
    using LargeSource = OneSource;
};
template <class OneSource>
struct KingsleyCoalescingOverOne : KingsleyCoalescingParameters {
    using Source = OneSource;
};
template <class OneSource>
struct LeaOverOne : LeaParameters {
    using Source = OneSource;
    using LargeSource = OneSource;
};

struct KingsleyRow : Row<Kingsley<>> {
    template <class Source>
    using Over = Kingsley<KingsleyOverOne<Source>>;
    /// 8 bytes stand at a multiple of 16 too, behind their header.
    static_assert(alignment_of<Kingsley<>> == quantum);
};

struct LockedKingsleyRow : Row<LockedKingsley<>> {
    template <class Source>
    using Over = LockedKingsley<KingsleyOverOne<Source>>;
    static constexpr bool thread_safe = true;
};

/// Regions from anywhere but the break are not joined, so the same requests again may find them cut otherwise.
struct KingsleyCoalescingRow : Row<KingsleyCoalescing<>> {
    template <class Source>
    using Over = KingsleyCoalescing<KingsleyCoalescingOverOne<Source>>;
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

struct LockedKingsleyCoalescingRow : Row<LockedKingsleyCoalescing<>> {
    static constexpr bool thread_safe = true;
};

struct LeaRow : Row<Lea<>> {
    template <class Source>
    using Over = Lea<LeaOverOne<Source>>;
    static constexpr bool releases_live = true;
};

struct LockedLeaRow : Row<LockedLea<>> {
    static constexpr bool thread_safe = true;
};

struct LockedLeaOverMmapRow : Row<LockedLea<LeaOverOne<MmapHeap>>> {
    static constexpr bool thread_safe = true;
};

using Rows = testing::Types<KingsleyRow, LockedKingsleyRow, KingsleyCoalescingRow,
                            LockedKingsleyCoalescingRow, LeaRow, LockedLeaRow, LockedLeaOverMmapRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(KingsleyLea, Conformance, Rows);

} // namespace cairn::conformance
