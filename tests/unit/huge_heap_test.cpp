// SPDX-License-Identifier: MIT
//
// HugeHeap: a mapping a block; what is freed stays for a short time and goes back; growth takes the contents along.
#include "process_memory.hpp"

#include <cairn/core/statistics.hpp>
#include <cairn/run/huge_heap.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace cairn;

namespace {

const std::size_t page = platform::vm::page_size();

class HugeHeapTest : public testing::Test {
protected:
    ~HugeHeapTest() override {
        for (char *const p : std::set(live_)) {
            free(p);
        }
        heap_.flush();
        EXPECT_EQ(runs_.space().mapped(), 0u) << "everything went back";
    }

    char *malloc(std::size_t size, std::size_t alignment = 1) {
        auto *const p = static_cast<char *>(heap_.malloc(size, alignment, clean_));
        if (p != nullptr) {
            EXPECT_TRUE(live_.insert(p).second);
        }
        return p;
    }
    void free(char *p) {
        EXPECT_EQ(live_.erase(p), 1u);
        EXPECT_TRUE(heap_.free(p));
    }
    char *reallocate(char *p, std::size_t size) {
        auto *const to = static_cast<char *>(heap_.reallocate(p, size));
        if (to != nullptr) {
            live_.erase(p);
            live_.insert(to);
        }
        return to;
    }

    RunHeap runs_;
    HugeHeap heap_{runs_};
    std::set<char *> live_;
    bool clean_ = false;
};

TEST_F(HugeHeapTest, ABlockIsAMappingOfItsSizeAtTheStartOfAWindow) {
    for (const std::size_t size : {std::size_t{1}, page, 17_MiB + 1, window_size, 100_MiB}) {
        const std::size_t before = test::address_space();
        char *const p = malloc(size);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
        EXPECT_EQ(heap_.size_of(p), align_up(size, page));
        EXPECT_EQ(WindowMap::kind(address_of(p)), WindowKind::huge);
        EXPECT_TRUE(clean_);
        EXPECT_EQ(p[0] | p[size - 1], 0);
        p[0] = p[align_up(size, page) - 1] = 'x';
        EXPECT_EQ(heap_.live_bytes(), align_up(size, page));
        free(p);
        EXPECT_EQ(WindowMap::kind(address_of(p)), WindowKind::foreign);
        EXPECT_EQ(heap_.live_bytes(), 0u);
        heap_.flush();
        EXPECT_FALSE(test::mapped(p));
        // But for a page of descriptors, which stays, and what a sanitizer has taken for itself.
        EXPECT_LE(test::address_space(), before + (platform::sanitized ? 1_MiB : page));
    }
}

TEST_F(HugeHeapTest, AnyAlignment) {
    for (std::size_t alignment = 1; alignment <= 4_GiB; alignment *= 2) {
        char *const p = malloc(20_MiB, alignment);
        ASSERT_NE(p, nullptr) << alignment;
        EXPECT_TRUE(is_aligned(p, alignment));
        free(p);
    }
}

TEST_F(HugeHeapTest, WhatNoMachineHasIsNullptr) {
    EXPECT_EQ(malloc(SIZE_MAX), nullptr);
    EXPECT_EQ(malloc(SIZE_MAX / 2), nullptr);
    EXPECT_EQ(malloc(20_MiB, std::size_t{1} << 62), nullptr);
    char *const p = malloc(20_MiB);
    EXPECT_EQ(reallocate(p, SIZE_MAX), nullptr);
    EXPECT_EQ(heap_.size_of(p), 20_MiB) << "nothing has changed";
}

TEST_F(HugeHeapTest, OnlyTheStartOfALiveBlockIsOne) {
    char *const p = malloc(100_MiB);
    for (char *const wrong : {p + 1, p + page, p + window_size, p - page}) {
        EXPECT_EQ(heap_.size_of(wrong), 0u);
        EXPECT_FALSE(heap_.free(wrong));
        EXPECT_EQ(heap_.reallocate(wrong, 50_MiB), nullptr);
    }
    EXPECT_EQ(heap_.size_of(p), 100_MiB);
    free(p);
    EXPECT_FALSE(heap_.free(p)) << "freed twice";
    EXPECT_EQ(heap_.size_of(p), 0u);
    EXPECT_EQ(heap_.reallocate(p, 50_MiB), nullptr);
}

TEST_F(HugeHeapTest, AHiddenBlockIsNoneUntilItIsShown) {
    char *const p = malloc(20_MiB);
    heap_.set_hidden(p, true);
    EXPECT_EQ(heap_.size_of(p), 0u);
    EXPECT_FALSE(heap_.free(p));
    EXPECT_EQ(heap_.reallocate(p, 50_MiB), nullptr);
    EXPECT_EQ(heap_.live_bytes(), 20_MiB);
    heap_.set_hidden(p, false);
    EXPECT_EQ(heap_.size_of(p), 20_MiB);
}

TEST_F(HugeHeapTest, AFreedMappingServesTheNextOfItsSize) {
    char *const first = malloc(20_MiB);
    first[0] = 'x';
    free(first);
    EXPECT_EQ(heap_.cached_bytes(), 20_MiB);
    EXPECT_EQ(malloc(19_MiB), first) << "at most an eighth too long";
    EXPECT_FALSE(clean_);
    EXPECT_EQ(heap_.size_of(first), 20_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 0u);
    free(first);
    EXPECT_EQ(malloc(17_MiB), first);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(heap_.size_of(first), 17_MiB) << "more than an eighth is left";
    EXPECT_EQ(heap_.cached_bytes(), 3_MiB);
    free(first);
    EXPECT_NE(malloc(20_MiB + 1), first) << "too short";
    EXPECT_TRUE(clean_);
}

TEST_F(HugeHeapTest, TheBestFitIsTaken) {
    for (const bool longest_first : {true, false}) {
        char *const large = malloc(22_MiB);
        char *const small = malloc(20_MiB);
        char *const middle = malloc(21_MiB);
        free(longest_first ? large : middle);
        free(small);
        free(longest_first ? middle : large);
        EXPECT_EQ(malloc(20_MiB + 1), middle);
        EXPECT_EQ(malloc(20_MiB), small);
        EXPECT_EQ(malloc(20_MiB), large);
        for (char *const p : {large, small, middle}) {
            free(p);
        }
        heap_.flush();
    }
}

TEST_F(HugeHeapTest, WhatABlockHasTooMuchWaitsBehindIt) {
    char *const p = malloc(60_MiB);
    p[0] = p[40_MiB] = p[60_MiB - 1] = 'x';
    free(p);
    ASSERT_EQ(malloc(45_MiB), p);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(p[40_MiB], 'x') << "with its pages";
    EXPECT_EQ(heap_.size_of(p), 45_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 15_MiB);
    EXPECT_TRUE(test::mapped(p + 45_MiB));
    free(p);
    ASSERT_EQ(malloc(58_MiB), p) << "both together";
    EXPECT_EQ(p[60_MiB - 1], 'x');
    EXPECT_EQ(heap_.size_of(p), 60_MiB);
    EXPECT_EQ(runs_.space().mapped(), 60_MiB);
    free(p);
    ASSERT_EQ(malloc(30_MiB), p);
    free(p);
    ASSERT_EQ(malloc(20_MiB), p);
    EXPECT_EQ(heap_.cached_bytes(), 40_MiB);
    free(p);
    ASSERT_EQ(malloc(60_MiB), p) << "all three";
}

TEST_F(HugeHeapTest, WhereACachedMappingWouldHaveToGoItIsMadeLonger) {
    char *const p = malloc(45_MiB);
    p[40_MiB] = 'x';
    free(p);
    char *const longer = malloc(100_MiB);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(longer[40_MiB], 'x');
    EXPECT_EQ(longer[45_MiB] | longer[100_MiB - 1], 0);
    EXPECT_EQ(heap_.size_of(longer), 100_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 0u);
    EXPECT_EQ(runs_.space().mapped(), 100_MiB);
}

TEST_F(HugeHeapTest, WhatWaitsBehindABlockServesOthersElsewhere) {
    char *const p = malloc(100_MiB);
    p[60_MiB] = 'a';
    p[70_MiB] = 'b';
    p[90_MiB] = 'c';
    free(p);
    ASSERT_EQ(malloc(60_MiB), p);
    char *const other = malloc(20_MiB);
    EXPECT_TRUE(is_aligned(other, window_size));
    EXPECT_FALSE(clean_);
    EXPECT_EQ(heap_.size_of(other), 20_MiB);
    EXPECT_EQ(other[0], 'a') << "with its pages";
    EXPECT_EQ(other[10_MiB], 'b');
    EXPECT_FALSE(test::mapped(p + 60_MiB));
    EXPECT_EQ(heap_.cached_bytes(), 20_MiB);
    char *const third =
        malloc(30_MiB); // what is left, made longer: a new mapping would have to be paid with it
    EXPECT_TRUE(is_aligned(third, window_size));
    EXPECT_EQ(clean_ ? 0 : third[10_MiB], clean_ ? 0 : 'c');
    EXPECT_EQ(runs_.space().mapped(), heap_.live_bytes() + heap_.cached_bytes());
}

TEST_F(HugeHeapTest, NearlyAllOfWhatWaitsBehindABlockIsAllOfIt) {
    char *const p = malloc(80_MiB);
    free(p);
    ASSERT_EQ(malloc(60_MiB), p);
    char *const other = malloc(19_MiB);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(heap_.size_of(other), 20_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 0u);
}

TEST_F(HugeHeapTest, ABlockGrowsIntoWhatWaitsBehindIt) {
    char *const p = malloc(100_MiB);
    p[95_MiB] = 'x';
    free(p);
    ASSERT_EQ(malloc(40_MiB), p);
    ASSERT_EQ(reallocate(p, 70_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 70_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 30_MiB);
    ASSERT_EQ(reallocate(p, 99_MiB), p) << "and a sixtieth more";
    EXPECT_EQ(heap_.size_of(p), 100_MiB);
    EXPECT_EQ(heap_.live_bytes(), 100_MiB);
    EXPECT_EQ(heap_.cached_bytes(), 0u);
    EXPECT_EQ(p[95_MiB], 'x');
    EXPECT_EQ(runs_.space().mapped(), 100_MiB);
}

TEST_F(HugeHeapTest, AndBeyond) {
    char *const p = malloc(60_MiB);
    p[1_MiB] = p[50_MiB] = 'x';
    free(p);
    ASSERT_EQ(malloc(40_MiB), p);
    char *const longer = reallocate(p, 120_MiB);
    ASSERT_NE(longer, nullptr);
    EXPECT_EQ(longer[1_MiB], 'x');
    EXPECT_EQ(longer[50_MiB], 'x') << "with the pages that it grew into";
    EXPECT_EQ(longer[120_MiB - 1], 0);
    EXPECT_EQ(heap_.cached_bytes(), 0u);
    EXPECT_EQ(runs_.space().mapped(), 120_MiB);
}

TEST_F(HugeHeapTest, GrowthThatFailsLeavesWhatWaitsBehindABlock) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    char *const p = malloc(60_MiB);
    free(p);
    ASSERT_EQ(malloc(40_MiB), p);
    const auto fails = [&] {
        test::limit_address_space(60_MiB);
        EXPECT_EQ(reallocate(p, 100_MiB), nullptr);
        EXPECT_EQ(heap_.size_of(p), 40_MiB);
        EXPECT_EQ(heap_.live_bytes(), 40_MiB);
        EXPECT_EQ(heap_.cached_bytes(), 20_MiB);
        char *const full = malloc(40_MiB); // what waits, or its place, serves another
        EXPECT_NE(full, nullptr);
        free(full);
        return HasFailure() ? 1 : 0;
    };
    EXPECT_EXIT(_exit(fails()), testing::ExitedWithCode(0), "");
}

/// Its first lines are a segment's descriptors, and whoever writes on behind a block would write there.
TEST_F(HugeHeapTest, BehindABlockNoWindowStarts) {
    char *p = malloc(100_MiB);
    free(p);
    ASSERT_EQ(malloc(64_MiB - page), p);
    EXPECT_EQ(heap_.size_of(p), 64_MiB - page + huge_guard) << "where what is behind it may go back";
    heap_.flush();
    EXPECT_TRUE(test::mapped(p + 64_MiB));
    free(p);
    p = malloc(100_MiB);
    ASSERT_EQ(reallocate(p, 64_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 64_MiB + huge_guard);
    free(p);
    heap_.flush();
    p = malloc(40_MiB);
    EXPECT_NE(reallocate(p, 64_MiB), p) << "not in place";
    heap_.flush();
    for (char *const q : std::set(live_)) {
        free(q);
    }
    heap_.flush();
    p = malloc(64_MiB);
    EXPECT_EQ(heap_.size_of(p), 64_MiB) << "a mapping of its own has nothing behind it";
    EXPECT_EQ(reallocate(p, 64_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 64_MiB);
    free(p);
    EXPECT_EQ(malloc(64_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 64_MiB);
}

TEST_F(HugeHeapTest, NorBehindWhatIsLeftOfAMapping) {
    char *const p = malloc(100_MiB);
    free(p);
    heap_.make_room(36_MiB);
    EXPECT_FALSE(test::mapped(p + 65_MiB));
    EXPECT_TRUE(test::mapped(p + 64_MiB + huge_guard - page));
    ASSERT_EQ(malloc(64_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 64_MiB + huge_guard);
}

TEST_F(HugeHeapTest, WhatIsInTheWayIsMovedAround) {
    char *const next = malloc(60_MiB);
    char *const p = malloc(60_MiB);
    ASSERT_EQ(p + 2 * window_size, next);
    p[40_MiB] = 'x';
    free(p);
    char *const longer = malloc(100_MiB);
    EXPECT_NE(longer, p);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(longer[40_MiB], 'x');
    EXPECT_FALSE(test::mapped(p));
}

TEST_F(HugeHeapTest, OnlyTheNearestServes) {
    char *const near = malloc(70_MiB);
    char *const far = malloc(120_MiB);
    far[0] = near[0] = 'x';
    free(near);
    free(far);
    EXPECT_EQ(malloc(60_MiB), near);
    EXPECT_EQ(heap_.cached_bytes(), 130_MiB);
    char *const longest = malloc(481_MiB);
    EXPECT_EQ(longest[0], 0) << "120 are less than a quarter";
    EXPECT_TRUE(clean_);
}

TEST_F(HugeHeapTest, OneThatIsMuchTooLongServes) {
    char *const p = malloc(250_MiB);
    free(p);
    EXPECT_EQ(malloc(20_MiB), p);
    EXPECT_EQ(heap_.cached_bytes(), 230_MiB);
}

TEST_F(HugeHeapTest, WhatAMappingGrowsByIsPaid) {
    char *const shorter = malloc(60_MiB);
    char *const longer = malloc(70_MiB);
    longer[1_MiB] = 'x';
    free(shorter);
    free(longer);
    char *const p = malloc(160_MiB);
    EXPECT_FALSE(clean_);
    EXPECT_EQ(p[1_MiB], 'x') << "the longest";
    EXPECT_EQ(heap_.cached_bytes(), 32_MiB + huge_guard)
        << "of 60; a quarter of 130 stays, but for part of a step";
    EXPECT_TRUE(test::mapped(shorter + 32_MiB + huge_guard - 1));
    EXPECT_FALSE(test::mapped(shorter + 32_MiB + huge_guard)) << "its end is what goes";
}

TEST_F(HugeHeapTest, AMappingThatCanNotGrowMakesRoomForANewOne) {
    char *const next = malloc(60_MiB);
    char *const p = malloc(60_MiB);
    ASSERT_EQ(p + 2 * window_size, next) << "no growth in place";
    p[0] = 'x';
    free(p);
    const auto grows = [&] {
        test::limit_address_space(60_MiB); // no place of 100 to move to, but with those 60
        const char *const longer = malloc(100_MiB);
        return longer != nullptr && clean_ && longer[0] == 0 && heap_.cached_bytes() == 0 ? 0 : 1;
    };
    EXPECT_EXIT(_exit(grows()), testing::ExitedWithCode(0), "");
}

TEST_F(HugeHeapTest, NothingStaysThroughTwoTicks) {
    char *const early = malloc(20_MiB);
    char *const late = malloc(30_MiB);
    free(early);
    heap_.purge_idle();
    EXPECT_TRUE(test::mapped(early));
    free(late);
    heap_.purge_idle();
    EXPECT_FALSE(test::mapped(early));
    EXPECT_TRUE(test::mapped(late));
    EXPECT_EQ(heap_.cached_bytes(), 30_MiB);
    heap_.purge_idle();
    EXPECT_FALSE(test::mapped(late));
    EXPECT_EQ(heap_.cached_bytes(), 0u);
}

TEST_F(HugeHeapTest, WhatWaitsBehindABlockHasAClockOfItsOwn) {
    char *const p = malloc(60_MiB);
    free(p);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(malloc(40_MiB), p);
        free(p);
        EXPECT_EQ(heap_.cached_bytes(), 60_MiB);
        heap_.purge_idle();
    }
    EXPECT_EQ(heap_.cached_bytes(), 40_MiB);
    EXPECT_FALSE(test::mapped(p + 40_MiB));
    EXPECT_TRUE(test::mapped(p));
}

TEST_F(HugeHeapTest, TheClockOfAMappingStartsWhenItIsFreed) {
    char *const p = malloc(20_MiB);
    free(p);
    heap_.purge_idle();
    ASSERT_EQ(malloc(20_MiB), p);
    free(p);
    heap_.purge_idle();
    EXPECT_TRUE(test::mapped(p)) << "it was in use since the last tick";
}

TEST_F(HugeHeapTest, TheCacheHasItsLimits) {
    std::vector<char *> many;
    for (std::size_t i = 0; i < HugeCache::slots + 5; ++i) {
        many.push_back(malloc(page));
    }
    for (char *const p : many) {
        free(p);
    }
    EXPECT_EQ(heap_.cached_bytes(), HugeCache::slots * page);
    heap_.flush();

    char *const a = malloc(HugeCache::limit - page);
    char *const b = malloc(2 * page);
    char *const c = malloc(HugeCache::limit + page);
    free(a);
    free(b);
    free(c);
    EXPECT_EQ(heap_.cached_bytes(), HugeCache::limit - page);
    EXPECT_FALSE(test::mapped(b));
    EXPECT_FALSE(test::mapped(c));
    EXPECT_EQ(heap_.flush(), HugeCache::limit - page);
    EXPECT_EQ(heap_.flush(), 0u);
}

TEST_F(HugeHeapTest, WhenMemoryIsNeededElsewhereTheEndOfTheLongestGoesFirst) {
    char *const small = malloc(20_MiB);
    char *const large = malloc(40_MiB);
    char *const middle = malloc(30_MiB);
    for (char *const p : {small, large, middle}) {
        free(p);
    }
    heap_.make_room(35_MiB);
    EXPECT_TRUE(test::mapped(large));
    EXPECT_FALSE(test::mapped(large + 5_MiB));
    EXPECT_EQ(heap_.cached_bytes(), 55_MiB);
    char *const other = malloc(50_MiB, 2 * window_size); // no cached one serves
    EXPECT_TRUE(clean_);
    EXPECT_EQ(heap_.cached_bytes(), 40_MiB) << "fifteen more than there ever were";
    EXPECT_TRUE(test::mapped(small + 20_MiB - 1));
    EXPECT_TRUE(test::mapped(middle));
    EXPECT_FALSE(test::mapped(middle + 15_MiB));
    free(other);
    heap_.flush();

    char *const little = malloc(PurgingRuns::beside_mappings.slack);
    free(little);
    heap_.make_room(1_GiB);
    EXPECT_TRUE(test::mapped(little)) << "so much may always lie there";
}

TEST_F(HugeHeapTest, ItIsTheEndOfAllThatTouches) {
    char *const p = malloc(100_MiB);
    free(p);
    ASSERT_EQ(malloc(60_MiB), p);
    free(p);
    heap_.make_room(10_MiB);
    EXPECT_FALSE(test::mapped(p + 90_MiB));
    EXPECT_EQ(malloc(90_MiB), p);
    EXPECT_EQ(heap_.size_of(p), 90_MiB);
}

/// What lies free in runs and in the cache is one sum; and a fraction of all that there is may.
TEST(HugeHeapBesideRunsTest, RunsCountWithWhatIsCached) {
    RunHeap runs;
    HugeHeap heap(runs);
    bool clean = false;
    void *const little = heap.malloc(PurgingRuns::beside_mappings.slack, 1, clean);
    OwnerLine *const run = runs.allocate(6).first;
    ASSERT_TRUE(heap.free(little));
    heap.make_room(1_GiB);
    EXPECT_TRUE(test::mapped(little));
    runs.release(run);
    heap.make_room(1_GiB);
    EXPECT_FALSE(test::mapped(static_cast<char *>(little) + 31_MiB)) << "with the runs it is more";

    // Huge blocks are paid for before they are taken, runs after it.
    heap.flush();
    heap.pay_for_runs(runs.line().total());
    void *const cached = heap.malloc(100_MiB, 1, clean);
    ASSERT_TRUE(heap.free(cached));
    void *const other = heap.malloc(60_MiB, 2 * window_size, clean);
    const std::size_t left = heap.cached_bytes();
    EXPECT_LE(left, 40_MiB);
    heap.pay_for_runs(runs.line().total());
    EXPECT_EQ(heap.cached_bytes(), left);
    EXPECT_NE(runs.allocate(3_MiB / slot_size).first, nullptr);
    heap.pay_for_runs(runs.line().total());
    EXPECT_EQ(heap.cached_bytes(), left - 3_MiB);
    heap.pay_for_runs(runs.line().total());
    EXPECT_EQ(heap.cached_bytes(), left - 3_MiB) << "once";
    heap.free(other);
    heap.flush();

    void *const live = heap.malloc(5 * PurgingRuns::beside_mappings.slack, 1, clean);
    void *const more = heap.malloc(PurgingRuns::beside_mappings.slack, 1, clean);
    ASSERT_TRUE(heap.free(more));
    heap.make_room(1_GiB);
    EXPECT_TRUE(test::mapped(more)) << "a seventh of what there is";
    heap.free(live);
    heap.flush();
}

TEST_F(HugeHeapTest, GrowthTakesTheContentsAlong) {
    char *p = malloc(20_MiB);
    for (std::size_t i = 0; i < 20_MiB; i += page) {
        p[i] = static_cast<char>(i / page * 7);
    }
    std::size_t before = 20_MiB;
    for (const std::size_t size : {24_MiB, 40_MiB, 130_MiB, 131_MiB, 25_MiB, 25_MiB + 1, 400_MiB, 20_MiB}) {
        char *const from = p;
        p = reallocate(p, size);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
        const std::size_t bytes = align_up(size, page);
        EXPECT_EQ(heap_.size_of(p), bytes);
        EXPECT_EQ(heap_.live_bytes(), bytes);
        EXPECT_EQ(runs_.space().mapped(), bytes) << "nothing of the old mapping is left";
        EXPECT_EQ(WindowMap::kind(address_of(p)), WindowKind::huge);
        if (from != p) {
            EXPECT_EQ(WindowMap::kind(address_of(from)), WindowKind::foreign);
        }
        for (std::size_t i = 0; i < 20_MiB; i += page) {
            ASSERT_EQ(p[i], static_cast<char>(i / page * 7)) << "at " << i;
        }
        if (bytes > before) {
            EXPECT_EQ(p[bytes - 1], 0);
            p[bytes - 1] = 'x';
        }
        before = bytes;
    }
    EXPECT_FALSE(test::mapped(p + 20_MiB)) << "what was cut off went back";
}

TEST_F(HugeHeapTest, GrowthMovesWhereSomethingIsBehind) {
    char *const p = malloc(20_MiB);
    void *const foreign = platform::vm::map_at(p + 20_MiB, page);
    p[0] = p[20_MiB - 1] = 'x';
    char *const to = reallocate(p, 100_MiB);
    ASSERT_NE(to, nullptr);
    EXPECT_NE(to, p);
    EXPECT_EQ(to[0], 'x');
    EXPECT_EQ(to[20_MiB - 1], 'x');
    EXPECT_EQ(heap_.size_of(p), 0u);
    EXPECT_FALSE(test::mapped(p));
    if (foreign != nullptr) {
        EXPECT_TRUE(test::mapped(foreign));
        platform::vm::unmap(foreign, page);
    }
}

/// Growth is what goes above the most that there was, and that follows what is live.
TEST_F(HugeHeapTest, WhatIsShrunkOrUnmappedIsNoCredit) {
    char *const p = malloc(512_MiB);
    EXPECT_EQ(runs_.line().total(), 512_MiB);
    ASSERT_EQ(reallocate(p, 65_MiB), p);
    EXPECT_TRUE(runs_.would_grow(page));
    ASSERT_EQ(reallocate(p, 66_MiB), p);
    EXPECT_EQ(runs_.line().total(), 513_MiB);
    free(p);
    heap_.flush();
    EXPECT_TRUE(runs_.would_grow(page));
}

/// The place that was taken for it has not risen above the line.
TEST_F(HugeHeapTest, AMoveThatFailsIsNoCredit) {
    char *const p = malloc(40_MiB);
    platform::vm::map_at(p + 40_MiB, page); // unless something is in the way already
    ASSERT_EQ(mprotect(p + 10_MiB, page, PROT_READ), 0);
    if (reallocate(p, 200_MiB) != nullptr) {
        GTEST_SKIP() << "a kernel that moves mappings of several parts";
    }
    EXPECT_EQ(heap_.size_of(p), 40_MiB);
    malloc(20_MiB);
    EXPECT_EQ(runs_.line().total(), 60_MiB);
}

TEST_F(HugeHeapTest, ManyBlocksAreToldApart) {
    std::map<char *, std::size_t> model;
    std::mt19937_64 random(8);
    for (int step = 0; step < 3000; ++step) {
        if (model.size() < 600 && random() % 3 != 0) {
            const std::size_t size = 1 + random() % 100_KiB;
            char *const p = malloc(size);
            ASSERT_NE(p, nullptr);
            model[p] = size;
            p[size - 1] = static_cast<char>(size);
        } else if (!model.empty()) {
            const auto one = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
            ASSERT_GE(heap_.size_of(one->first), one->second);
            ASSERT_EQ(one->first[one->second - 1], static_cast<char>(one->second));
            free(one->first);
            model.erase(one);
        }
        Statistics now;
        heap_.statistics(now);
        ASSERT_EQ(now.huge_live_blocks, model.size());
        ASSERT_EQ(now.free_dirty, heap_.cached_bytes());
    }
}

/// Contents stay, sizes are enough, blocks are apart, and all that is mapped is accounted for, whatever lengths take
/// turns.
TEST_F(HugeHeapTest, LengthsOfAllKindsTakeTurns) {
    std::map<char *, std::size_t> model;
    std::mt19937_64 random(9);
    const auto mark = [](char *p, std::size_t size) {
        for (std::size_t i = 0; i < size; i += 1_MiB) {
            p[i] = static_cast<char>(address_of(p) / window_size + i / 1_MiB);
        }
    };
    const auto check = [](const char *p, const char *was, std::size_t size) {
        for (std::size_t i = 0; i < size; i += 1_MiB) {
            ASSERT_EQ(p[i], static_cast<char>(address_of(was) / window_size + i / 1_MiB)) << "at " << i;
        }
    };
    for (int step = 0; step < 3000; ++step) {
        const std::size_t size = 1 + random() % (step % 2 != 0 ? 40_MiB : 160_MiB);
        const auto one = model.empty()
                             ? model.end()
                             : std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
        switch (random() % 8) {
        case 0:
        case 1:
        case 2:
            if (model.size() < 6) {
                char *const p = malloc(size);
                ASSERT_NE(p, nullptr);
                if (clean_) {
                    ASSERT_EQ(p[0] | p[size / 2] | p[size - 1], 0);
                }
                model[p] = size;
                mark(p, size);
            }
            break;
        case 3:
            if (one != model.end()) {
                const auto [p, was] = *one;
                char *const to = reallocate(p, size);
                ASSERT_NE(to, nullptr);
                check(to, p, std::min(was, size));
                model.erase(one);
                model[to] = size;
                mark(to, size);
            }
            break;
        case 4:
            random() % 4 != 0 ? heap_.make_room(size) : heap_.purge_idle();
            break;
        default:
            if (one != model.end()) {
                check(one->first, one->first, one->second);
                free(one->first);
                model.erase(one);
            }
        }
        const char *end = nullptr;
        for (const auto &[p, asked] : model) {
            ASSERT_GE(heap_.size_of(p), asked);
            ASSERT_LT(end, p);
            end = p + heap_.size_of(p);
        }
        ASSERT_EQ(runs_.space().mapped(), heap_.live_bytes() + heap_.cached_bytes());
    }
}

/// Out of memory: what another thread is just then unmapping will be there in a moment. The test may come too late to
/// see that, and the other thread may be stopped for longer than anybody waits.
TEST_F(HugeHeapTest, WhoGivesUpWaitsForWhatOthersUnmap) {
    constexpr int enough = 10;
    int waited = 0;
    int in_vain = 0;
    for (int round = 0; round < 2000 && waited < enough && in_vain < enough; ++round) {
        char *const p = malloc(HugeCache::limit + 1_MiB); // none that is kept
        ASSERT_NE(p, nullptr);
        ASSERT_FALSE(heap_.give_up()) << "there is nothing";
        std::atomic<bool> asking{false};
        std::atomic<bool> freed{false};
        runs_.lock().lock();
        std::thread freeing([&] {
            free(p);
            freed = true;
        });
        std::thread out_of_memory([&] {
            while (!freed) {
                asking = true;
                if (heap_.give_up()) {
                    ++(test::mapped(p) ? in_vain : waited);
                    return;
                }
            }
        });
        while (heap_.live_bytes() != 0 || !asking) {
            platform::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        runs_.lock().unlock();
        freeing.join();
        out_of_memory.join();
    }
    EXPECT_EQ(waited, enough) << in_vain << " times it did not";
}

TEST_F(HugeHeapTest, WhereSpaceIsShortTheCacheIsGivenUpAndNothingIsLost) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(64_MiB);
            char *const a = malloc(20_MiB);
            char *const b = malloc(30_MiB);
            EXPECT_TRUE(a != nullptr && b != nullptr);
            EXPECT_EQ(malloc(40_MiB), nullptr);
            a[0] = 'x';
            void *const foreign = platform::vm::map_at(a + 20_MiB, page);
            EXPECT_EQ(heap_.reallocate(a, 40_MiB), nullptr)
                << "in place it can not, and there is no room to move";
            EXPECT_EQ(heap_.size_of(a), 20_MiB);
            EXPECT_EQ(a[0], 'x');
            platform::vm::unmap(foreign, page);
            free(b);
            EXPECT_EQ(heap_.cached_bytes(), 30_MiB);
            char *const c = malloc(40_MiB);
            EXPECT_NE(c, nullptr) << "the cache was in the way";
            EXPECT_EQ(heap_.cached_bytes(), 0u);
            free(c);
            heap_.flush();
            free(malloc(10_MiB)); // little enough to lie there while others grow
            EXPECT_NE(malloc(36_MiB), nullptr);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(HugeHeapTest, DescriptorsAreUsedAgain) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(64_MiB);
            free(malloc(20_MiB));
            heap_.flush();
            const std::size_t before = test::address_space();
            for (std::size_t i = 0; i < 4 * page / sizeof(HugeBlock); ++i) {
                free(malloc(20_MiB));
                EXPECT_EQ(malloc(80_MiB), nullptr);
            }
            heap_.flush();
            EXPECT_LE(test::address_space(), before);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(HugeHeapTest, TheLockIsMadeAnewInTheChildOfAFork) {
    char *const p = malloc(20_MiB);
    heap_.repair_after_fork();
    EXPECT_EQ(heap_.size_of(p), 20_MiB);
}

} // namespace
