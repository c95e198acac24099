// SPDX-License-Identifier: MIT
//
// HugeOffers: the kernel may use huge pages for large blocks where the system gives them unasked, as long as they are
// blocks.
#include "process_memory.hpp"

#include <cairn/run/large_heap.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace cairn;

namespace {

constexpr std::size_t huge_page = platform::vm::huge_page;

class HugeOffersTest : public testing::Test {
protected:
    HugeOffersTest() { runs_.space().set_unasked(true); }

    void SetUp() override {
        if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
            GTEST_SKIP() << "a kernel without huge pages";
        }
    }

    char *allocate(std::size_t bytes) {
        bool clean = false;
        return static_cast<char *>(heap_.malloc(bytes, 1, clean, /*heap_number=*/1));
    }
    void free(void *p) {
        heap_.free(&Segment::of(address_of(p))->owner_lines[Segment::slot_of(address_of(p))], 1);
    }

    static bool may_have_them(const void *p) { return test::flags_of(p).find(" hg") != std::string::npos; }
    static bool may_not(const void *p) { return test::flags_of(p).find(" nh") != std::string::npos; }
    /// The first boundary of a huge page in a block.
    static char *boundary(char *p) { return reinterpret_cast<char *>(align_up(address_of(p), huge_page)); }

    RunHeap runs_;
    LargeHeap heap_{runs_};
};

TEST_F(HugeOffersTest, ALargeBlockMayHaveThemUntilItIsFreed) {
    char *const p = allocate(4 * huge_page);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(may_have_them(boundary(p)));
    EXPECT_TRUE(may_not(boundary(p) + 4 * huge_page)) << "what lies behind";
    free(p);
    EXPECT_TRUE(may_not(boundary(p)));
}

TEST_F(HugeOffersTest, NotOneInWhichNoneFits) {
    char *const p = allocate(huge_page - slot_size);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(may_not(p));
    EXPECT_TRUE(may_not(p + huge_page / 2));
}

TEST_F(HugeOffersTest, NorWhereTheSystemGivesNoneUnasked) {
    runs_.space().set_unasked(false);
    EXPECT_TRUE(may_not(boundary(allocate(4 * huge_page))));
}

TEST_F(HugeOffersTest, NorWhereTheSystemOrTheKernelDecidesAnyway) {
    for (const HugePageUse use : {HugePageUse::system, HugePageUse::everywhere}) {
        runs_.space().use_huge_pages(use);
        char *const p = allocate(12_MiB); // in a segment of its own
        ASSERT_NE(p, nullptr);
        EXPECT_FALSE(Segment::of(address_of(p))->owner_lines[Segment::slot_of(address_of(p))].offered);
    }
}

TEST_F(HugeOffersTest, WhatABlockLosesMayNotHaveThem) {
    char *const p = allocate(8 * huge_page - slot_size);
    ASSERT_NE(p, nullptr);
    OwnerLine *const run = &Segment::of(address_of(p))->owner_lines[Segment::slot_of(address_of(p))];
    ASSERT_TRUE(heap_.resize_in_place(run, 3 * huge_page));
    EXPECT_TRUE(may_have_them(boundary(p)));
    EXPECT_TRUE(may_not(boundary(p) + 4 * huge_page));
}

/// One that waits for its thread is free in the child, for whatever use.
TEST_F(HugeOffersTest, NorWhatWasFreeWhenAProcessForked) {
    char *const live = allocate(4 * huge_page);
    char *p = nullptr;
    for (unsigned i = 0; i <= SpareRuns::least_turns; ++i) {
        p = allocate(3 * huge_page);
        ASSERT_NE(p, nullptr);
        free(p);
    }
    ASSERT_TRUE(may_have_them(boundary(p))) << "a spare run";
    heap_.repair_after_fork();
    runs_.repair_after_fork();
    EXPECT_TRUE(may_not(boundary(p)));
    EXPECT_TRUE(may_have_them(boundary(live)));
}

/// Each is two mappings.
TEST_F(HugeOffersTest, ManyBlocksAreNotAllMarked) {
    std::vector<char *> blocks;
    unsigned marked = 0;
    for (unsigned i = 0; i < 300; ++i) {
        blocks.push_back(allocate(2 * huge_page));
        ASSERT_NE(blocks.back(), nullptr);
        marked += may_have_them(boundary(blocks.back()));
    }
    EXPECT_EQ(marked, HugeOffers::most);
    for (char *const p : blocks) {
        free(p);
    }
    runs_.purge(0);
    EXPECT_TRUE(may_have_them(boundary(allocate(6 * huge_page)))) << "a later one is";
}

} // namespace
