// SPDX-License-Identifier: MIT
#include "suite.hpp"

#include <cairn/combine/segregated.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

namespace cairn::conformance {

/// Regions of their own, which the lists of all threads lie in.
struct PrivateRegionsRow : On<Bump<16_KiB>, Freelist, ThreadPrivate<4>> {
    static constexpr std::size_t fixed_size = 48;
    static constexpr bool releases_live = true;
    static constexpr bool thread_safe = true;
};

struct PrivateOverMallocRow : Row<Compose<MallocHeap, ThreadPrivate<4>>> {
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr bool thread_safe = true;
};

struct OwnedPagesRow : On<ThreadOwned<4>> {
    static constexpr bool thread_safe = true;
};

struct OwnedClassesRow : Row<MmapHeap> {
    template <class Source>
    using Over =
        Compose<Source, SizeHeader,
                Segregated<GeometricSizeClasses<4_KiB, 512>, Compose<Source, Bump<>, Freelist, SizeHeader>>,
                ThreadOwned<3>>;
    using Heap = Over<MmapHeap>;
    static Heap *create() { return new Heap; }
    static void destroy(Heap *heap) { delete heap; }
    static constexpr std::size_t max_size = 16_MiB;
    static constexpr std::size_t alignment_for(std::size_t) { return alignment_of<Heap>; }
    static constexpr bool thread_safe = true;
};

using Rows = testing::Types<PrivateRegionsRow, PrivateOverMallocRow, OwnedPagesRow, OwnedClassesRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(ThreadHashed, Conformance, Rows);

} // namespace cairn::conformance
