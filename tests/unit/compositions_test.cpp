// SPDX-License-Identifier: MIT
//
// What layers owe each other when they are composed: a heap that can be cleared is as new whatever lies below, a block
// of another heap is not owned wherever it lies, and the locks below are held across a fork. Constructor arguments
// reach the source.
#include "counting_heap.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/fallback.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/dictionary.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/thread/locked.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

using namespace cairn;

namespace {

using Buffer = StaticBufferHeap<64_KiB>; // whose free does nothing

template <class H>
class Cleared : public testing::Test {};
using ClearedHeaps =
    testing::Types<Compose<Buffer, Bump<40_KiB>>, Compose<Buffer, SizeHeader, Coalesceable<32_KiB>>,
                   Compose<Buffer, FixedStack<40_KiB>, Xalloc>, Compose<Buffer, Obstack<40_KiB>, Xalloc>,
                   Compose<Buffer, SizeHeader, AlignedHeader, ChunkPool<512, 16_KiB>>,
                   Compose<Buffer, Bump<60_KiB>, Bump<30_KiB>>>;
TYPED_TEST_SUITE(Cleared, ClearedHeaps);

TYPED_TEST(Cleared, IsAsNewOverAHeapWhoseFreeDoesNothing) {
    const auto heap = std::make_unique<TypeParam>();
    for (int round = 0; round < 10; ++round) {
        void *const p = heap->malloc(500);
        ASSERT_NE(p, nullptr) << "in round " << round;
        std::memset(p, 1, 500);
        heap->clear();
    }
}

using Counting = CountingHeap<MmapHeap>;

TEST(Cleared, GivesBackWhatAListBelowHolds) {
    Counting::live = 0;
    Compose<Counting, Freelist, Bump<64_KiB>> heap;
    heap.malloc(100);
    EXPECT_EQ(Counting::live, 1);
    heap.clear();
    EXPECT_EQ(Counting::live, 0);
}

/// A lock all of whose holders across a fork are counted.
struct CountingLock {
    static void lock() {}
    static void unlock() {}
    static void hold_across_fork() { ++held; }
    static void let_go_after_fork() { --held; }
    static inline int held = 0;
};

template <class H>
class Forked : public testing::Test {};
using LockedBelow = Compose<MmapHeap, Locked<CountingLock>>;
using ForkedHeaps =
    testing::Types<Compose<LockedBelow, SizeHeader>, Compose<LockedBelow, SizeHeader, AlignedHeader>,
                   Compose<LockedBelow, Rounded<PowersOfTwo<>>>, Compose<LockedBelow, Ansi>,
                   Compose<LockedBelow, ThrowException>, Compose<LockedBelow, Ansi, Check<>>>;
TYPED_TEST_SUITE(Forked, ForkedHeaps);

TYPED_TEST(Forked, HoldsTheLocksOfTheHeapBelow) {
    TypeParam heap;
    sync::lock_heap_across_fork(heap);
    EXPECT_EQ(CountingLock::held, 1);
    sync::unlock_heap_after_fork(heap, sync::AfterFork::in_parent);
    EXPECT_EQ(CountingLock::held, 0);
}
static_assert(!sync::ForkLocks<Compose<MmapHeap, SizeHeader, Ansi, ThrowException>>, "there are none");

TEST(StaticBuffer, GivesABlockOfNothingAPlaceOfItsOwn) {
    Compose<StaticBufferHeap<64>, SizeTable<>> heap;
    void *const nothing = heap.malloc(0);
    void *const some = heap.malloc(10);
    EXPECT_NE(nothing, some);
    EXPECT_TRUE(heap.owns(nothing));
    heap.free(nothing);
    EXPECT_EQ(heap.getSize(some), 10u);
    EXPECT_TRUE(heap.owns(heap.malloc(0)));
    EXPECT_TRUE(heap.owns(heap.malloc(0)));
    EXPECT_EQ(heap.malloc(0), nullptr) << "there is no more room";
}

template <class H>
class Owning : public testing::Test {};
using OwningHeaps =
    testing::Types<Compose<MmapHeap, Bump<64_KiB>, SizeHeader>, Compose<MmapHeap, FixedStack<64_KiB>, Xalloc>,
                   Compose<MmapHeap, Obstack<64_KiB>, Xalloc>, Compose<MmapHeap, SizeHeader>>;
TYPED_TEST_SUITE(Owning, OwningHeaps);

TYPED_TEST(Owning, KnowsItsBlocksFromThoseThatBeginWhereItsMemoryEnds) {
    // Mappings lie below each other: each of these pages has the memory of a heap before it.
    MmapHeap pages;
    std::vector<void *> others;
    std::vector<std::unique_ptr<TypeParam>> heaps;
    heaps.reserve(40);
    for (int i = 0; i < 40; ++i) {
        heaps.push_back(std::make_unique<TypeParam>());
        heaps.back()->free(heaps.back()->malloc(1)); // whatever else it maps
        others.push_back(pages.malloc(4_KiB));
        std::size_t size = 60_KiB;
        for (int k = 0; k < 120; ++k) { // to the last byte
            void *const p = heaps.back()->malloc(size);
            EXPECT_TRUE(p == nullptr || size == 0 || heaps.back()->owns(p));
            size = size > 100 ? 3 * size / 4 : 0;
        }
    }
    for (const auto &heap : heaps) {
        for (void *p : others) {
            EXPECT_FALSE(heap->owns(p));
        }
    }
}

TYPED_TEST(Owning, IsAskedAboutAnyPointer) {
    TypeParam heap;
    heap.malloc(1);
    const int elsewhere = 0;
    EXPECT_FALSE(heap.owns(&elsewhere));
    EXPECT_FALSE(heap.owns(nullptr));
}

TEST(Xalloc, OwnsABlockOfNothingOnceAnotherLiesBehindIt) {
    Compose<MmapHeap, FixedStack<64_KiB>, Xalloc> heap;
    void *const nothing = heap.malloc(0);
    EXPECT_FALSE(heap.owns(nothing)) << "where it lies another heap's memory may begin";
    heap.malloc(1);
    EXPECT_TRUE(heap.owns(nothing));
}

/// Its functions are static; clang warned of a `this` that nobody uses.
TEST(Coalesceable, StandsOnAUniqueHeap) {
    Compose<MmapHeap, Unique<class Regions>, Coalesceable<64_KiB>, Seg<PowersOfTwo<>>, Coalesce> heap;
    heap.free(heap.malloc(100));
}

TEST(SegregatedDeathTest, StopsAtALittleHeapThatRounds) {
    using Little = Compose<MmapHeap, Bump<>, SizeHeader, Seg<PowersOfTwo<64, 8>>>;
    Compose<MmapHeap, SizeHeader, Segregated<PowersOfTwo<8, 8>, Little>> heap;
    EXPECT_NE(heap.malloc(100), nullptr) << "of the class of 128";
    if constexpr (platform::checked) {
        EXPECT_DEATH(heap.malloc(30),
                     "a heap of a SegregatedHeap made a block of 64 bytes for its class of 32");
    }
}

TEST(Hybrid, GivesALargeBlockBackToTheLargeHeapWhereverItLies) {
    Compose<MmapHeap, Hybrid<256, Compose<MmapHeap, Bump<>, Freelist, SizeHeader>>> heap;
    std::vector<void *> large;
    for (int i = 0; i < 20; ++i) {
        large.push_back(heap.malloc(8_KiB));
        std::memset(large.back(), 1, 8_KiB);
        for (int k = 0; k < 310; ++k) { // more than a chunk of them
            std::memset(heap.malloc(200), 2, 200);
        }
    }
    for (void *p : large) {
        heap.free(p);
    }
    for (int i = 0; i < 20; ++i) {
        void *const p = heap.malloc(200);
        for (void *other : large) {
            EXPECT_NE(p, other) << "on the list of the small ones";
        }
    }
}

template <class H>
class OnABuffer : public testing::Test {};
using Fine = PowersOfTwo<16, 12>;
using OnBuffers = testing::Types<
    Compose<BufferHeap, Freelist>, Compose<BufferHeap, BoundedFreelist<3>>, Compose<BufferHeap, Adapt<>>,
    Compose<BufferHeap, Bump<1_KiB>>, Compose<BufferHeap, SizeHeader, AlignedHeader, ChunkPool<256, 8_KiB>>,
    Compose<BufferHeap, Coalesceable<>, Seg<Fine>, Coalesce, Threshold<MultipleClasses<24, 16, 63>, 512>>,
    Compose<BufferHeap, SizeHeader, Rounded<Fine>, ThrowException, Locked<>>,
    Compose<BufferHeap, SizeHeader, Ansi, Locked<>>, Compose<BufferHeap, Obstack<1_KiB>, Xalloc>,
    Compose<BufferHeap, FixedStack<32_KiB>, Xalloc>,
    Compose<MmapHeap, Fallback<Compose<BufferHeap, Freelist>>>>;
TYPED_TEST_SUITE(OnABuffer, OnBuffers);

TYPED_TEST(OnABuffer, ConstructorArgumentsReachTheSource) {
    std::vector<unsigned char> memory(64_KiB);
    TypeParam heap(memory.data(), memory.size());
    void *const p = heap.malloc(100);
    EXPECT_TRUE(p >= memory.data() && p < memory.data() + memory.size());
    heap.free(p);
    static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_move_constructible_v<TypeParam>);
    static_assert(!std::is_constructible_v<TypeParam, int>);
}

} // namespace
