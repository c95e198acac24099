// SPDX-License-Identifier: MIT
//
// Each layer on the archetype: it needs no more than it says, it offers no more than it has, and it survives
// a heap below that is always out of memory. And the two forms of a composition are one type.
#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/pmr.hpp>
#include <cairn/adapt/std_allocator.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>

#include <gtest/gtest.h>

#include <mutex>

using namespace cairn;

namespace {
using Rich = Archetype<Capability::all>;
using Classes = GeometricSizeClasses<1_KiB, 512>;
} // namespace

// Every member of every layer is instantiated on the poorest heap that it accepts, and on one that can do
// everything.
template class cairn::FreelistHeap<Archetype<>>;
template class cairn::FreelistHeap<Rich>;
template class cairn::BumpHeap<Archetype<>>;
template class cairn::BumpHeap<Rich, 4_KiB>;
template class cairn::SizeHeaderHeap<Archetype<>>;
template class cairn::SizeHeaderHeap<Rich>;
template class cairn::HybridHeap<100, Archetype<Capability::owning>, Archetype<>>;
template class cairn::HybridHeap<100, SelfSizedArchetype, SelfSizedArchetype>;
template class cairn::HybridHeap<100, Rich, Rich>;
template class cairn::SegregatedHeap<Classes, SelfSizedArchetype, SelfSizedArchetype>;
template class cairn::LockedHeap<Archetype<>>;
template class cairn::LockedHeap<Rich>;
template class cairn::LockedHeap<Archetype<>, std::mutex>;
template class cairn::AnsiHeap<Archetype<Capability::sized>>;
template class cairn::AnsiHeap<Rich>;
template class cairn::StdAllocator<int, Archetype<>>;
template class cairn::StdAllocator<int, Rich>;
template class cairn::HeapResource<Archetype<>>;
template class cairn::HeapResource<Rich>;

namespace {

// What a layer offers on a heap that can do everything: nothing leaks through that the layer would break.
using enum Capability;
static_assert(capabilities_of<FreelistHeap<Rich>> == (sized | owning | clearable));
static_assert(capabilities_of<BumpHeap<Rich>> == (owning | clearable));
static_assert(capabilities_of<SizeHeaderHeap<Rich>> == (sized | owning | clearable));
static_assert(SameSizeRecord<FreelistHeap<MallocHeap>, MallocHeap>);
static_assert(SameSizeRecord<BoundedFreelistHeap<MallocHeap, 3>, MallocHeap>);
static_assert(!SelfSizedHeap<FreelistHeap<MmapHeap>> && !SelfSizedHeap<BoundedFreelistHeap<MmapHeap, 3>>);
static_assert(SizedHeap<FreelistHeap<MmapHeap>> && SizedHeap<BoundedFreelistHeap<MmapHeap, 3>>);
static_assert(capabilities_of<HybridHeap<100, Rich, Rich>> == (sized | owning | clearable));
static_assert(capabilities_of<SegregatedHeap<Classes, SizeHeaderHeap<Rich>, SizeHeaderHeap<Rich>>> ==
              (sized | clearable));
static_assert(capabilities_of<AnsiHeap<Rich>> ==
              (sized | owning | clearable | aligned | reallocating | zeroing | array));

// And on the poorest: what the layer adds by itself.
static_assert(capabilities_of<FreelistHeap<Archetype<>>> == none);
static_assert(capabilities_of<BumpHeap<Archetype<>>> == (owning | clearable));
static_assert(capabilities_of<SizeHeaderHeap<Archetype<>>> == sized);
static_assert(capabilities_of<HybridHeap<100, Archetype<owning>, Archetype<>>> == none);
static_assert(capabilities_of<SegregatedHeap<Classes, SelfSizedArchetype, SelfSizedArchetype>> == sized);
static_assert(capabilities_of<AnsiHeap<Archetype<sized>>> == (sized | reallocating | zeroing | array));

// A lock around a heap takes nothing away and adds nothing, for each capability alone and for all.
template <unsigned... Bit>
constexpr bool same_when_locked(std::integer_sequence<unsigned, Bit...>) {
    return ((capabilities_of<LockedHeap<Archetype<Capability{1u << Bit}>>> == Capability{1u << Bit}) && ...);
}
static_assert(same_when_locked(std::make_integer_sequence<unsigned, 8>()));
static_assert(capabilities_of<LockedHeap<Rich>> == all && capabilities_of<LockedHeap<Archetype<>>> == none);

// The heap below can not be reached round the layer.
static_assert(!std::is_convertible_v<LockedHeap<Rich> *, Rich *>);
static_assert(!std::is_convertible_v<FreelistHeap<Rich> *, Rich *>);
static_assert(!std::is_convertible_v<BumpHeap<Rich> *, Rich *>);
static_assert(!std::is_convertible_v<SizeHeaderHeap<Rich> *, Rich *>);
static_assert(!std::is_convertible_v<AnsiHeap<Rich> *, Rich *>);

// A copied free list would hand a block out twice.
static_assert(!std::copy_constructible<FreelistHeap<MmapHeap>> &&
              !std::copy_constructible<BumpHeap<MmapHeap>>);
static_assert(!std::copy_constructible<MmapHeap> && !std::copy_constructible<LockedHeap<Rich>>);

// Layers cost no room but their own.
static_assert(sizeof(SizeHeaderHeap<MmapHeap>) == sizeof(MmapHeap));
static_assert(sizeof(AnsiHeap<SizeHeaderHeap<MmapHeap>>) == sizeof(MmapHeap));
static_assert(sizeof(BumpHeap<Archetype<>>) == 3 * sizeof(void *));

// Flat or nested: the same type.
static_assert(std::same_as<Compose<MmapHeap>, MmapHeap>);
static_assert(std::same_as<Compose<MmapHeap, Bump<>, Freelist>, FreelistHeap<BumpHeap<MmapHeap>>>);
static_assert(std::same_as<Compose<MmapHeap, Bump<32_KiB>, Freelist, SizeHeader, Ansi, Locked<>>,
                           LockedHeap<AnsiHeap<SizeHeaderHeap<FreelistHeap<BumpHeap<MmapHeap, 32_KiB>>>>>>);
static_assert(std::same_as<Compose<MmapHeap, SizeHeader, Segregated<Classes, SizeHeaderHeap<MmapHeap>>>,
                           SegregatedHeap<Classes, SizeHeaderHeap<MmapHeap>, SizeHeaderHeap<MmapHeap>>>);
static_assert(std::same_as<Compose<Rich, Hybrid<100, MmapHeap>>, HybridHeap<100, MmapHeap, Rich>>);
static_assert(
    std::same_as<Compose<Compose<MmapHeap, Bump<>>, Freelist>, Compose<MmapHeap, Bump<>, Freelist>>);

template <class H>
class OutOfMemory : public testing::Test {};

using Layers =
    testing::Types<FreelistHeap<Rich>, BumpHeap<Rich>, SizeHeaderHeap<Rich>, HybridHeap<100, Rich, Rich>,
                   SegregatedHeap<Classes, SizeHeaderHeap<Rich>, SizeHeaderHeap<Rich>>, LockedHeap<Rich>,
                   AnsiHeap<Rich>, AnsiHeap<Archetype<sized>>,
                   AnsiHeap<SizeHeaderHeap<BumpHeap<Archetype<>>>>>;
TYPED_TEST_SUITE(OutOfMemory, Layers);

TYPED_TEST(OutOfMemory, IsPassedUp) {
    TypeParam heap;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(heap.malloc(200), nullptr);
        if constexpr (ZeroingHeap<TypeParam>) {
            EXPECT_EQ(heap.malloc_zeroed(200), nullptr);
        }
        if constexpr (ArrayHeap<TypeParam>) {
            EXPECT_EQ(heap.calloc(20, 10), nullptr);
        }
        if constexpr (AlignedHeap<TypeParam>) {
            EXPECT_EQ(heap.memalign(64, 200), nullptr);
        }
        if constexpr (ReallocatingHeap<TypeParam>) {
            EXPECT_EQ(heap.reallocate(nullptr, 200), nullptr);
        }
        if constexpr (ClearableHeap<TypeParam>) {
            heap.clear();
        }
    }
}

TEST(OutOfMemory, IsThrownByTheAdaptors) {
    Archetype<> heap;
    StdAllocator<int, Archetype<>> allocator(heap);
    EXPECT_THROW(static_cast<void>(allocator.allocate(1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(allocator.allocate(SIZE_MAX / 2)), std::bad_array_new_length);
    HeapResource<Archetype<>> resource(heap);
    EXPECT_THROW(static_cast<void>(resource.allocate(1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(resource.allocate(1, 4096)), std::bad_alloc);
}

} // namespace
