// SPDX-License-Identifier: MIT
//
// What is particular to one layer, and therefore not in the conformance suite.
#include <cairn/adapt/ansi.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace cairn;

namespace {

/// Writes down what it is asked for. Blocks lie behind each other, so their distance tells what was asked.
class Recorder : public StaticBufferHeap<64_KiB> {
public:
    void *malloc(std::size_t size) {
        asked().push_back(size);
        return StaticBufferHeap::malloc(size);
    }
    void free(void *p) { freed().push_back(p); }

    static std::vector<std::size_t> &asked() {
        static std::vector<std::size_t> all;
        return all;
    }
    static std::vector<void *> &freed() {
        static std::vector<void *> all;
        return all;
    }
    static void forget() {
        asked().clear();
        freed().clear();
    }
};
static_assert(Heap<Recorder>);

using Sizes = std::vector<std::size_t>;
using Blocks = std::vector<void *>;

TEST(FreelistHeap, HandsTheLastFreedOutFirst) {
    Recorder::forget();
    Blocks all;
    {
        FreelistHeap<Recorder> heap;
        for (int i = 0; i < 3; ++i) {
            all.push_back(heap.malloc(40));
        }
        heap.free(all[0]);
        heap.free(all[2]);
        EXPECT_EQ(heap.malloc(40), all[2]);
        EXPECT_EQ(heap.malloc(40), all[0]);
        EXPECT_EQ(Recorder::asked(), (Sizes{40, 40, 40}));
        heap.free(all[1]);
        EXPECT_TRUE(Recorder::freed().empty());
    }
    EXPECT_EQ(Recorder::freed(), Blocks{all[1]}) << "what is on the list is given back, what is live is not";
}

TEST(FreelistHeap, LeavesRoomForItsLink) {
    Recorder::forget();
    FreelistHeap<Recorder> heap;
    heap.free(heap.malloc(1));
    EXPECT_EQ(Recorder::asked(), Sizes{sizeof(void *)});
}

TEST(FreelistHeapDeathTest, OneSizeOnly) {
    if constexpr (platform::checked) {
        EXPECT_DEATH(
            {
                FreelistHeap<MallocHeap> heap;
                heap.free(heap.malloc(40));
                heap.malloc(48);
            },
            "cairn: a FreelistHeap of blocks of 40 bytes was asked for 48");
    }
    FreelistHeap<MmapHeap> heap;
    heap.free(heap.malloc(40));
    heap.clear();
    EXPECT_NE(heap.malloc(50'000), nullptr) << "a cleared list has no size yet";
}

TEST(BumpHeap, TakesChunksAndGivesThemBack) {
    Recorder::forget();
    void *first = nullptr;
    {
        BumpHeap<Recorder, 1024> heap;
        first = heap.malloc(10);
        EXPECT_EQ(heap.malloc(10), static_cast<char *>(first) + 16);
        heap.free(first);
        EXPECT_EQ(Recorder::asked(), Sizes{1024});

        void *const big = heap.malloc(2000);
        EXPECT_EQ(Recorder::asked(), (Sizes{1024, 2016})) << "its own chunk, with the header";
        EXPECT_EQ(heap.malloc(10), static_cast<char *>(first) + 32) << "the current chunk stays in use";
        EXPECT_TRUE(heap.owns(first) && heap.owns(big) && heap.owns(static_cast<char *>(big) + 1999));
        EXPECT_FALSE(heap.owns(&first));

        heap.malloc(1008 - 48);
        EXPECT_EQ(Recorder::asked().size(), 2u) << "to the last byte of the chunk";
        heap.malloc(1);
        EXPECT_EQ(Recorder::asked(), (Sizes{1024, 2016, 1024}));
        heap.malloc(1008);
        EXPECT_EQ(Recorder::asked(), (Sizes{1024, 2016, 1024, 1024})) << "a whole chunk";
        EXPECT_TRUE(Recorder::freed().empty());
    }
    EXPECT_EQ(Recorder::freed().size(), 4u);
    EXPECT_EQ(Recorder::freed().back(), static_cast<char *>(first) - 16);
}

TEST(BumpHeap, AFailedChunkLeavesTheCurrentOne) {
    BumpHeap<StaticBufferHeap<1024>, 1024> heap;
    void *const first = heap.malloc(16);
    EXPECT_EQ(heap.malloc(1024), nullptr);
    EXPECT_EQ(heap.malloc(16), static_cast<char *>(first) + 16);
}

TEST(BumpHeap, BlocksOfNothingShareAChunk) {
    Recorder::forget();
    BumpHeap<Recorder, 1024> heap;
    auto *const first = static_cast<char *>(heap.malloc(0));
    for (int i = 1; i < 1008 / 16; ++i) {
        EXPECT_EQ(heap.malloc(0), first + 16 * i);
    }
    EXPECT_EQ(Recorder::asked(), Sizes{1024});
    EXPECT_NE(heap.malloc(0), nullptr) << "of the next chunk";
    EXPECT_EQ(Recorder::asked(), (Sizes{1024, 1024}));
}

TEST(SizeHeaderHeap, RecordsWhatWasAskedFor) {
    Recorder::forget();
    SizeHeaderHeap<Recorder> heap;
    void *const p = heap.malloc(33);
    EXPECT_EQ(heap.getSize(p), 33u);
    EXPECT_EQ(Recorder::asked(), Sizes{49});
    heap.free(p);
    EXPECT_EQ(Recorder::freed(), Blocks{static_cast<char *>(p) - 16});
    EXPECT_EQ(heap.malloc(SIZE_MAX - 15), nullptr);
    EXPECT_EQ(Recorder::asked().size(), 1u);
}

TEST(HybridHeap, ChoosesBySize) {
    // Told apart by their headers, and by who owns the block.
    HybridHeap<100, SizeHeaderHeap<StaticBufferHeap<64_KiB>>, SizeHeaderHeap<Recorder>> by_size;
    HybridHeap<100, StaticBufferHeap<64_KiB>, Recorder> by_owner;
    Recorder::forget();
    const auto use = [](auto &heap) {
        for (const std::size_t size : Sizes{1, 99, 100, 101, 5000}) {
            heap.free(heap.malloc(size));
        }
    };
    use(by_size);
    EXPECT_EQ(Recorder::asked(), (Sizes{117, 5016}));
    EXPECT_EQ(Recorder::freed().size(), 2u);
    Recorder::forget();
    use(by_owner);
    EXPECT_EQ(Recorder::asked(), (Sizes{101, 5000}));
    EXPECT_EQ(Recorder::freed().size(), 2u);
}

TEST(HybridHeap, FindsTheHeapOfABlockOfNothing) {
    // Where it starts a heap below may have nothing that it owns: the first byte of a buffer is not in use yet.
    HybridHeap<100, StaticBufferHeap<64_KiB>, Recorder> heap;
    Recorder::forget();
    void *const p = heap.malloc(0);
    heap.free(p);
    EXPECT_NE(heap.malloc(0), p);
    EXPECT_TRUE(Recorder::asked().empty() && Recorder::freed().empty());
}

TEST(HybridHeapDeathTest, StopsAtASmallHeapThatRoundsTooFar) {
    using Small = Compose<StaticBufferHeap<64_KiB>, SizeHeader, Threshold<PowersOfTwo<8, 8>, 2000>>;
    static_assert(OwningHeap<Small> && SelfSizedHeap<Small>, "the size is looked at");
    HybridHeap<100, Small, SizeHeaderHeap<Recorder>> heap;
    Recorder::forget();
    heap.free(heap.malloc(64));
    EXPECT_TRUE(Recorder::freed().empty());
    if constexpr (platform::checked) {
        EXPECT_DEATH(heap.malloc(100),
                     "the small heap of a HybridHeap made 100 bytes a block of more than its "
                     "threshold, 100");
    }
}

TEST(SegregatedHeap, GivesEachClassItsOwnHeap) {
    using Classes = GeometricSizeClasses<1_KiB, 512>;
    using Bin = Compose<Recorder, Freelist, SizeHeader>;
    SegregatedHeap<Classes, Bin, SizeHeaderHeap<Recorder>> heap;
    Recorder::forget();
    void *const p = heap.malloc(100);
    EXPECT_EQ(heap.getSize(p), 112u);
    heap.free(p);
    EXPECT_EQ(heap.malloc(97), p) << "the class of 112";
    EXPECT_NE(heap.malloc(112), p);
    heap.free(p);
    EXPECT_NE(heap.malloc(96), p) << "another class";
    EXPECT_NE(heap.malloc(113), p) << "another class";
    EXPECT_EQ(heap.malloc(100), p);

    Recorder::forget();
    void *const largest = heap.malloc(1024);
    void *const large = heap.malloc(1025);
    EXPECT_EQ(Recorder::asked(), (Sizes{1024 + 16, 1025 + 16}));
    heap.free(largest);
    heap.free(large);
    EXPECT_EQ(Recorder::freed(), Blocks{static_cast<char *>(large) - 16}) << "large ones are not kept";
}

TEST(AnsiHeap, ReallocatesInPlaceWhileHalfIsUsed) {
    Recorder::forget();
    Compose<Recorder, SizeHeader, Ansi> heap;
    void *const p = heap.malloc(100);
    EXPECT_EQ(heap.reallocate(p, 100), p);
    EXPECT_EQ(heap.reallocate(p, 50), p);
    void *const smaller = heap.reallocate(p, 49);
    EXPECT_NE(smaller, p);
    EXPECT_NE(heap.reallocate(smaller, 50), smaller);
    EXPECT_EQ(Recorder::freed().size(), 2u);
    EXPECT_EQ(heap.getSize(nullptr), 0u);
}

TEST(AnsiHeap, PassesNothingAbovePtrdiffMax) {
    Recorder::forget();
    Compose<Recorder, SizeHeader, Ansi> heap;
    EXPECT_EQ(heap.malloc(std::size_t{PTRDIFF_MAX} + 1), nullptr);
    EXPECT_EQ(heap.malloc_zeroed(std::size_t{PTRDIFF_MAX} + 1), nullptr);
    EXPECT_EQ(heap.calloc(SIZE_MAX / 4, 3), nullptr);
    EXPECT_EQ(heap.calloc(SIZE_MAX, SIZE_MAX), nullptr);
    EXPECT_TRUE(Recorder::asked().empty());
}

} // namespace
