// SPDX-License-Identifier: MIT
//
// What the documents say of Kingsley's and Lea's allocators, and that a change of a parameter changes it.
#include <allocators/kingsley.hpp>
#include <allocators/kingsley_coalescing.hpp>
#include <allocators/lea.hpp>

#include <cairn/source/static_buffer.hpp>

#include <gtest/gtest.h>

#include <cstring>

using namespace cairn;

namespace {

// As the malloc of a process needs them: there before the first constructor.
constinit LockedKingsley<> constant_kingsley;
constinit LockedKingsleyCoalescing<> constant_coalescing;
constinit LockedLea<> constant_lea;

struct InABuffer : LeaParameters {
    using Source = StaticBufferHeap<64_KiB>;
    static constexpr std::size_t growth = 4_KiB;
};

TEST(Kingsley, RoundsUpToAPowerOfTwoAndReusesWithinTheClassOnly) {
    Kingsley<> heap;
    void *const p = heap.malloc(65);
    EXPECT_EQ(heap.getSize(p), 128u);
    EXPECT_EQ(heap.getSize(heap.malloc(0)), 8u);
    heap.free(p);
    EXPECT_NE(heap.malloc(64), p);
    EXPECT_NE(heap.malloc(129), p);
    EXPECT_EQ(heap.malloc(128), p);
}

TEST(Kingsley, HasAHeapAboveTwoGiB) {
    struct Few : KingsleyParameters {
        using Classes = PowersOfTwo<8, 10>;
    };
    Kingsley<Few> heap;
    EXPECT_EQ(heap.getSize(heap.malloc(4096)), 4096u);
    void *const large = heap.malloc(4097);
    EXPECT_EQ(heap.getSize(large), 4097u);
    heap.free(large);
}

TEST(Kingsley, AlignsForManyThreads) {
    void *const p = constant_kingsley.memalign(4_KiB, 1000);
    EXPECT_TRUE(is_aligned(p, 4_KiB));
    EXPECT_GE(constant_kingsley.getSize(p), 1000u);
    std::memset(p, 1, 1000);
    constant_kingsley.free(p);
}

TEST(KingsleyCoalescing, JoinsWhatKingsleyLeavesApart) {
    KingsleyCoalescing<> heap;
    void *const a = heap.malloc(1024);
    void *const b = heap.malloc(1024);
    void *const wall = heap.malloc(8);
    heap.free(a);
    heap.free(b);
    EXPECT_EQ(heap.malloc(2048), a);
    heap.free(wall);
    EXPECT_LT(heap.getSize(heap.malloc(65)), 65 + BoundaryTag::smallest) << "not rounded to a power of two";
    constant_coalescing.free(constant_coalescing.malloc(65));
}

TEST(Lea, SplitsABlockForASmallerRequest) {
    Lea<> heap;
    void *const p = heap.malloc(10'000);
    void *const wall = heap.malloc(100);
    heap.free(p);
    EXPECT_EQ(heap.malloc(3000), p);
    void *const rest = heap.malloc(3000);
    EXPECT_TRUE(rest > p && rest < wall);
}

TEST(Lea, FitsClosely) {
    Lea<> heap;
    void *const large = heap.malloc(5000);
    heap.malloc(100);
    void *const close = heap.malloc(1000);
    heap.malloc(100);
    heap.free(large);
    heap.free(close);
    EXPECT_EQ(heap.malloc(1000), close);
}

TEST(Lea, JoinsSmallBlocksForALargerRequest) {
    Lea<> heap;
    void *const a = heap.malloc(56);
    void *const b = heap.malloc(56);
    void *const wall = heap.malloc(200);
    heap.free(a);
    heap.free(b);
    EXPECT_NE(heap.malloc(100), a) << "below the trigger: the quicklists keep their blocks";
    heap.free(heap.malloc(LeaParameters::consolidate_from));
    EXPECT_EQ(heap.malloc(100), a);
    heap.free(wall);
}

TEST(Lea, MapsLargeBlocks) {
    Lea<> heap;
    void *const below = heap.malloc(LeaParameters::large_from - 1);
    void *const from = heap.malloc(LeaParameters::large_from);
    EXPECT_FALSE(BoundaryTag::of(below)->marked());
    EXPECT_TRUE(BoundaryTag::of(from)->marked());
    heap.free(from);
    heap.free(below);
    constant_lea.free(constant_lea.malloc_zeroed(1_MiB));
}

TEST(Lea, CostsEightBytesABlock) {
    Lea<> heap;
    auto *const first = static_cast<char *>(heap.malloc(120));
    for (int i = 1; i < 100; ++i) {
        EXPECT_EQ(heap.malloc(120), first + i * 128);
    }
}

TEST(Lea, HeapsOnDistinctRangesStayThere) {
    static Lea<InABuffer> one;
    static Lea<InABuffer> other;
    const auto within = [](void *p, auto &heap) { return address_of(p) - address_of(&heap) < sizeof heap; };
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(within(one.malloc(100), one));
        EXPECT_TRUE(within(other.malloc(200), other));
    }
}

} // namespace
