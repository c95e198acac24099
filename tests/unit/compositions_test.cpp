// SPDX-License-Identifier: MIT
//
// What layers owe each other when they are composed: a heap that was cleared is as new, whatever lies below.
#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
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

/// A source that says what it has given out.
class Counting {
public:
    void *malloc(std::size_t size) {
        ++live;
        return below_.malloc(size);
    }
    void free(void *p) {
        --live;
        below_.free(p);
    }
    void clear() {
        live = 0;
        below_.clear();
    }
    static inline int live = 0;

private:
    MmapHeap below_;
};

TEST(Cleared, GivesBackWhatAListBelowHolds) {
    Counting::live = 0;
    Compose<Counting, Freelist, Bump<64_KiB>> heap;
    heap.malloc(100);
    EXPECT_EQ(Counting::live, 1);
    heap.clear();
    EXPECT_EQ(Counting::live, 0);
}

} // namespace
