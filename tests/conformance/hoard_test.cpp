// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <allocators/hoard.hpp>

#include <cstdlib>

namespace cairn::conformance {

/// Pages out of the ledger's memory: the start of what it gave stands before the aligned part.
class WatchedPages {
public:
    void *map(std::size_t bytes, std::size_t alignment) {
        void *const start =
            bytes > PTRDIFF_MAX / 2 ? nullptr : ledger().malloc(bytes + alignment + sizeof(void *));
        if (start == nullptr) {
            return nullptr;
        }
        auto *const kept = reinterpret_cast<void **>(
            align_up(address_of(start) + sizeof(void *), std::max(alignment, quantum)));
        kept[-1] = start;
        std::memset(kept, 0, bytes);
        return kept;
    }
    void unmap(void *start, std::size_t) { ledger().free(static_cast<void **>(start)[-1]); }
};

template <class Parameters>
struct HoardRowOf : Row<Hoard<Parameters>> {
    template <class Source>
        requires std::same_as<Source, WatchedSource>
    using Over = Hoard<Parameters, WatchedPages>;

    static constexpr bool thread_safe = true;
    static constexpr std::size_t alignment_for(std::size_t size) { return size <= 8 ? 8 : quantum; }
};

/// Three heaps, so that threads share some; superblocks of another size, an f that is not the paper's.
struct Small : HoardParameters {
    static constexpr std::size_t superblock = 64_KiB;
    static constexpr std::size_t empty_numerator = 1;
    static constexpr std::size_t empty_denominator = 8;
    static constexpr unsigned groups = 8;
    static constexpr std::size_t slack = 1;
    static constexpr unsigned heaps_per_processor = 3;
    static unsigned processors() { return 1; }
};

using HoardRow = HoardRowOf<HoardParameters>;
using SmallRow = HoardRowOf<Small>;
static_assert(capabilities_of<HoardRow::Heap> ==
              (Capability::sized | Capability::aligned | Capability::zeroing));
static_assert(OverAnySource<HoardRow>);

using Rows = testing::Types<HoardRow, SmallRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Hoard, Conformance, Rows);

} // namespace cairn::conformance
