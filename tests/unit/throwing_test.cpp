// SPDX-License-Identifier: MIT
//
// Layers over a heap that throws std::bad_alloc where others return nullptr: what they do when memory is out they do
// then, too.
#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/source/static_buffer.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace cairn;

namespace {

/// A limited source that throws, and whose regions are not continued.
template <std::size_t Bytes>
using Limited = Compose<StaticBufferHeap<Bytes>, ThrowException>;
using Classes = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
template <std::size_t Bytes>
using Joining = Compose<Limited<Bytes>, Coalesceable<Bytes>, Seg<Classes>, Coalesce>;

template <class H>
std::vector<void *> take_all(H &heap, std::size_t size) {
    std::vector<void *> blocks;
    EXPECT_THROW(
        {
            for (;;) {
                blocks.push_back(heap.malloc(size));
            }
        },
        std::bad_alloc);
    return blocks;
}

TEST(AboveAHeapThatThrows, AnsiKeepsABlockThatGetsShorter) {
    Compose<Limited<1_KiB>, SizeHeader, Ansi> heap;
    void *const p = heap.malloc(1000);
    EXPECT_EQ(heap.reallocate(p, 10), p);
    EXPECT_THROW(heap.reallocate(p, 2000), std::bad_alloc);
}

TEST(AboveAHeapThatThrows, ThresholdJoinsItsListsAndTriesAgain) {
    Compose<Joining<16_KiB>, Threshold<MultipleClasses<24, 16, 63>, 512>> heap;
    for (void *const p : take_all(heap, 40)) {
        heap.free(p);
    }
    EXPECT_NE(heap.malloc(400), nullptr) << "below the trigger";
}

TEST(AboveAHeapThatThrows, SelectMappedAsksTheOtherHeap) {
    using Mapped = Compose<Limited<16_KiB>, Coalesceable<16, true>>;
    Compose<Joining<64_KiB>, SelectMapped<4_KiB, Mapped>> heap;
    EXPECT_NE(heap.malloc(20'000), nullptr) << "more than all mappings have";
    EXPECT_NE(heap.memalign(64, 20'000), nullptr);
    EXPECT_NE(heap.malloc_zeroed(17'000), nullptr);
    void *const p = heap.malloc(100);
    std::memset(p, 1, 100);
    EXPECT_NE(heap.malloc(5000), nullptr);
    take_all(heap, 1000);
    EXPECT_THROW(heap.reallocate(p, 3000), std::bad_alloc);
}

TEST(AboveAHeapThatThrows, SelectMappedMovesABlockToTheOtherHeap) {
    using Mapped = Compose<Limited<16_KiB>, Coalesceable<16, true>>;
    Compose<Joining<4_KiB>, SelectMapped<3_KiB, Mapped>> heap;
    auto *const p = static_cast<unsigned char *>(heap.malloc(1000));
    heap.malloc(2000);
    std::memset(p, 1, 1000);
    auto *const q = static_cast<unsigned char *>(heap.reallocate(p, 2500));
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q[999], 1);
    EXPECT_TRUE(BoundaryTag::of(q)->marked());
}

TEST(AboveAHeapThatThrows, CoalesceLeavesABlockThatCanNotGrow) {
    Joining<64_KiB> heap;
    void *const p = heap.malloc(30'000);
    void *const behind = heap.malloc(20'000);
    heap.malloc(100);
    heap.free(behind);
    EXPECT_THROW(heap.reallocate(p, 60'000), std::bad_alloc);
    EXPECT_EQ(heap.getSize(p), BoundaryTag::room_in(BoundaryTag::bytes_for(30'000)));
    EXPECT_EQ(heap.malloc(20'000), behind);
}

} // namespace
