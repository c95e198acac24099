// SPDX-License-Identifier: MIT
//
// Routes: what a slow path tells of growth and of free memory, and what it need not; what a realloc leaves; what the
// figures are.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

struct Counting {
    static inline unsigned surpluses = 0;
    static bool attached() noexcept { return true; }
    static void grew() noexcept {}
    static void surplus() noexcept { ++surpluses; }
    static void returned() noexcept {}
};

TEST(Routes, ARunThatWaitsForItsThreadIsTakenAgainAndIsNoSurplus) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    heap->free(heap->malloc(1)); // the thread has a heap from here on
    heap->set_surplus_limit(slot_size);
    Counting::surpluses = 0;

    void *const p = heap->malloc(2 * slot_size);
    heap->free(p);
    EXPECT_EQ(Counting::surpluses, 0u);
    ASSERT_EQ(heap->malloc(2 * slot_size), p) << "not the next run";
    void *const longer = heap->malloc(3 * slot_size);
    heap->free(p);
    EXPECT_EQ(Counting::surpluses, 0u);
    heap->free(longer); // drives the other one out
    EXPECT_EQ(Counting::surpluses, 1u);
    heap->detach();
}

struct Marked : Flagship<Counting> {
    sync::Presence::Thing mark() {
        sync::Presence::Thing at = 0;
        EXPECT_TRUE(this->Routes::threads_.mine()->presence().owner_uses(at));
        return at;
    }
};

/// One of its superblock, which is small; a long one is let go at once.
TEST(Routes, AFastPathLeavesItsMark) {
    const auto heap = std::make_unique<Marked>();
    void *const small[] = {heap->malloc(64), heap->malloc(64), heap->malloc(64)};
    EXPECT_EQ(heap->mark(), FlagshipClasses::class_of(64));
    heap->free(small[1]);
    EXPECT_EQ(heap->mark(), address_of(owner_line_of(first_line_at(address_of(small[1])))));
    void *const large[] = {heap->malloc(20'000), heap->malloc(20'000), heap->malloc(20'000)};
    EXPECT_EQ(heap->mark(), sync::Presence::nothing);
    heap->free(small[0]);
    heap->free(large[1]);
    EXPECT_EQ(heap->mark(), sync::Presence::nothing);
    void *const longer = heap->malloc(2 * slot_size);
    heap->free(longer);
    heap->free(small[2]);
    EXPECT_NE(heap->mark(), sync::Presence::nothing);
    EXPECT_EQ(heap->malloc(2 * slot_size), longer);
    EXPECT_EQ(heap->mark(), sync::Presence::nothing) << "who has long blocks only keeps no superblock";
    for (void *const p : {large[0], large[2], longer}) {
        heap->free(p);
    }
    heap->detach();
}

Statistics figures(Flagship<Counting> &heap) {
    Statistics now;
    heap.statistics(now);
    return now;
}

void expect_same_live(const Statistics &a, const Statistics &b) {
    EXPECT_EQ(a.small_live, b.small_live);
    EXPECT_EQ(a.large_live, b.large_live);
    EXPECT_EQ(a.large_live_blocks, b.large_live_blocks);
    EXPECT_EQ(a.huge_live, b.huge_live);
    EXPECT_EQ(a.huge_live_blocks, b.huge_live_blocks);
}

TEST(Routes, AReallocLeavesWhatAMallocOfItsSizeWouldTake) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    constexpr std::size_t sizes[] = {0, 16, 5000, 40000, 3 * slot_size, 1_MiB, 20_MiB, 60_MiB};
    for (const std::size_t from : sizes) {
        for (const std::size_t to : sizes) {
            heap->free(heap->malloc(1));
            const Statistics before = figures(*heap);
            void *const asked = heap->malloc(to);
            const Statistics wanted = figures(*heap);
            heap->free(asked);
            void *const p = heap->reallocate(heap->malloc(from), to);
            ASSERT_NE(p, nullptr);
            expect_same_live(figures(*heap), wanted);
            heap->free(p);
            expect_same_live(figures(*heap), before);
            ASSERT_FALSE(HasFailure()) << from << " to " << to;
        }
    }
    heap->detach();
}

TEST(Routes, ABlockThatIsHalfFullStays) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    for (const std::size_t size : {std::size_t{64}, std::size_t{1024}, 8_KiB, 20_KiB}) {
        void *const p = heap->malloc(size);
        const std::size_t length = heap->getSize(p);
        ASSERT_EQ(heap->reallocate(p, length), p) << size;
        ASSERT_EQ(heap->reallocate(p, length / 2), p) << size;
        void *const shorter = heap->reallocate(p, length / 2 - 1);
        EXPECT_NE(shorter, p) << size;
        heap->free(shorter);
    }
    void *const shortest = heap->malloc(1);
    for (std::size_t size = heap->getSize(shortest); size > 0; --size) {
        ASSERT_EQ(heap->reallocate(shortest, size), shortest) << size;
    }
    heap->free(shortest);
    heap->detach();
}

TEST(Routes, ALongBlockGrowsWhereItIs) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    void *const p = heap->malloc(1_MiB);
    EXPECT_EQ(heap->reallocate(p, 2_MiB), p) << "nothing is behind it";
    EXPECT_EQ(heap->reallocate(p, 2_MiB - slot_size), p);
    EXPECT_EQ(heap->reallocate(p, 200_KiB), p);
    heap->free(p);
    heap->detach();
}

TEST(Routes, ABlockThatGrowsByLittleGetsAnEighthMore) {
    for (const std::size_t first : {64u, 1000u, 8192u, 20'000u, 65'000u, 131'072u, 1'000'000u}) {
        const auto heap = std::make_unique<Flagship<Counting>>();
        void *const p = heap->malloc(first);
        void *const behind = heap->malloc(first); // it can not grow where it is
        const std::size_t before = heap->getSize(p);
        void *const little = heap->reallocate(p, before + before / 8);
        EXPECT_NE(little, p) << first;
        EXPECT_GE(heap->getSize(little), (before + before / 8) / 8 * 9) << first;

        void *const other = heap->malloc(first);
        void *const asked = heap->malloc(before + before / 8 + 1);
        void *const more = heap->reallocate(other, before + before / 8 + 1);
        const std::size_t a_page = platform::smallest_page; // long blocks begin at different lines
        EXPECT_LT(heap->getSize(more), heap->getSize(asked) + a_page)
            << first << ": more than an eighth is a step of its own";
        for (void *const block : {behind, little, asked, more}) {
            heap->free(block);
        }
        heap->detach();
    }
}

TEST(Routes, AFreedBlockIsNotLiveWhoeverFreesIt) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    std::array<void *, 100> blocks{};
    for (void *&p : blocks) {
        p = heap->malloc(1000);
    }
    const auto row = [&](Statistics now) {
        return *std::find_if(now.by_class, now.by_class + now.size_classes,
                             [](const SizeClassStatistics &c) { return c.block_size == 1024; });
    };
    const SizeClassStatistics all = row(figures(*heap));
    EXPECT_EQ(all.live_blocks, 100u);
    std::for_each(blocks.begin(), blocks.begin() + 30, [&](void *p) { heap->free(p); });
    std::thread([&] {
        std::for_each(blocks.begin() + 30, blocks.begin() + 50, [&](void *p) { heap->free(p); });
        heap->detach();
    }).join();
    const SizeClassStatistics half = row(figures(*heap));
    EXPECT_EQ(half.live_blocks, 50u);
    EXPECT_EQ(half.free_blocks, all.free_blocks + 50);
    EXPECT_EQ(figures(*heap).small_live, 50 * 1024u);
    std::for_each(blocks.begin() + 50, blocks.end(), [&](void *p) { heap->free(p); });
    heap->detach();
}

/// Else a thread that frees on and on in one superblock would keep all of it.
TEST(Routes, WhatAThreadHasGatheredIsGivenBackWhenTheChainIsLongEnough) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    std::array<void *, 600> blocks{};
    for (void *&p : blocks) {
        p = heap->malloc(100);
    }
    const std::size_t all = figures(*heap).small_live;
    std::thread([&] {
        for (std::size_t freed = 1; freed <= blocks.size(); ++freed) {
            heap->free(blocks[freed - 1]);
            ASSERT_LE(figures(*heap).small_live, all - (freed - std::min(freed, std::size_t{32})) * 112);
        }
        heap->detach();
    }).join();
    EXPECT_EQ(figures(*heap).small_live, 0u);
    heap->detach();
}

/// What the calling thread's heap keeps, and has gathered, and what those of others keep whose threads are elsewhere.
TEST(Routes, TrimmingIsForAllHeaps) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    std::vector<void *> blocks(2000);
    const auto use = [&](std::size_t size) {
        for (void *&p : blocks) {
            p = heap->malloc(size);
        }
    };
    const auto free_all = [&] {
        std::for_each(blocks.begin(), blocks.end(), [&](void *p) { heap->free(p); });
    };
    for (const std::size_t size : {16U, 100U, 1000U, 5000U}) {
        use(size);
        free_all();
    }
    heap->trim(0);
    EXPECT_EQ(figures(*heap).superblocks, 0u) << "its own";

    use(100);
    const auto gathered = [&] {
        return std::any_of(blocks.begin(), blocks.begin() + 20, [&](void *p) {
            return heap->levels().is_gathered(superblock::superblock_at(address_of(p)), address_of(p));
        });
    };
    std::thread([&] {
        std::for_each(blocks.begin(), blocks.begin() + 20, [&](void *p) { heap->free(p); });
        EXPECT_TRUE(gathered());
        heap->trim(0);
        EXPECT_FALSE(gathered());
        EXPECT_EQ(figures(*heap).small_live, (blocks.size() - 20) * 112);
        heap->detach();
    }).join();
    std::for_each(blocks.begin() + 20, blocks.end(), [&](void *p) { heap->free(p); });

    for (const std::size_t size :
         {16U, 48U, 100U, 200U, 500U, 1000U, 2000U}) { // a superblock of each is allocated from
        use(size);
        free_all();
    }
    ASSERT_GT(figures(*heap).small_resident, 200_KiB);
    std::thread([&] {
        heap->trim(0);
        heap->detach();
    }).join();
    EXPECT_LE(figures(*heap).small_resident, 128_KiB) << "others'";
    heap->detach();
}

TEST(Routes, DescriptorsAndHeapsAreMetadata) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    EXPECT_EQ(figures(*heap).metadata, 0u);
    heap->free(heap->malloc(1));
    const std::size_t one = figures(*heap).metadata;
    EXPECT_GE(one, sizeof(Segment) + sizeof(Flagship<Counting>::Heap));
    std::thread([&] {
        heap->free(heap->malloc(1));
        EXPECT_GE(figures(*heap).metadata, one + sizeof(Flagship<Counting>::Heap));
        EXPECT_EQ(figures(*heap).heaps, 2u);
        heap->detach();
    }).join();
    EXPECT_EQ(figures(*heap).heaps, 1u);
    EXPECT_EQ(figures(*heap).heaps_peak, 2u);
    heap->detach();
}

} // namespace
