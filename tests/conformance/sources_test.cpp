// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>

namespace cairn::conformance {

struct MmapRow : Row<MmapHeap> {
    static constexpr bool releases_live = true;
};

struct SbrkRow : Row<SbrkHeap> {
    static constexpr std::size_t max_size = 64_MiB; // the break may stand close below the next mapping
    static constexpr bool reuses = false;
    static constexpr bool releases_live = true;
};

struct StaticBufferRow : Row<StaticBufferHeap<2_MiB>> {
    static constexpr std::size_t max_size = 2_MiB;
    static constexpr bool reuses = false;
};

struct SystemMallocRow : Row<MallocHeap> {
    static constexpr bool c_semantics = true;
    static constexpr bool thread_safe = true;
};

using Sources = testing::Types<MmapRow, SbrkRow, StaticBufferRow, SystemMallocRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sources, Conformance, Sources);

} // namespace cairn::conformance
