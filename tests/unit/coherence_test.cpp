// SPDX-License-Identifier: MIT
//
// The lab's model of caches, and its count of false sharing.
#include <bench/coherence/sharing.hpp>

#include <gtest/gtest.h>

namespace cairn::coherence {
namespace {

class CachesTest : public testing::Test {
protected:
    Traffic reads(unsigned who, std::uintptr_t address, std::size_t size = 8) {
        return touch(who, address, size, false);
    }
    Traffic writes(unsigned who, std::uintptr_t address, std::size_t size = 8) {
        return touch(who, address, size, true);
    }

private:
    Traffic touch(unsigned who, std::uintptr_t address, std::size_t size, bool write) {
        Traffic count;
        caches_.access(who, address, size, write, count);
        return count;
    }
    Caches caches_;
};

TEST_F(CachesTest, WhatIsHereCostsNothing) {
    EXPECT_EQ(writes(0, 640).cold, 1u);
    EXPECT_EQ(writes(0, 640).transfers(), 0u);
    EXPECT_EQ(reads(0, 696).transfers(), 0u) << "of the same line";
    EXPECT_EQ(reads(0, 704).cold, 1u) << "of the next";
}

TEST_F(CachesTest, ALineIsReadByManyAndWrittenByOne) {
    writes(0, 0);
    EXPECT_EQ(reads(1, 0).reads, 1u);
    EXPECT_EQ(reads(2, 0).reads, 1u);
    EXPECT_EQ(reads(0, 0).transfers(), 0u);
    EXPECT_EQ(writes(1, 0).upgrades, 1u) << "0 and 2 lose it";
    EXPECT_EQ(writes(1, 0).transfers(), 0u);
    EXPECT_EQ(reads(0, 0).reads, 1u);
    EXPECT_EQ(writes(2, 0).writes, 1u) << "2 has nothing of it any more";
    EXPECT_EQ(reads(0, 0).reads, 1u);
}

TEST_F(CachesTest, AnAccessMayTouchTwoLines) {
    writes(0, 60, 8);
    EXPECT_EQ(reads(1, 0, 128).reads, 2u);
    EXPECT_EQ(reads(2, 63, 1).reads, 1u);
}

TEST(SharingTest, CountsWhatTheAllocatorDidAndNotTheProgram) {
    Sharing sharing;
    alignas(64) char memory[128] = {};
    sharing.handed_out(0, memory, 16);
    sharing.handed_out(0, memory + 16, 16);
    EXPECT_EQ(sharing.shared(), 0u) << "one thread";
    sharing.handed_out(1, memory + 64, 16);
    EXPECT_EQ(sharing.shared(), 0u) << "another line";
    sharing.handed_out(1, memory + 32, 16);
    EXPECT_EQ(sharing.shared(), 1u);
    sharing.passed_on(memory + 64, 16);
    sharing.handed_out(0, memory + 80, 16);
    EXPECT_EQ(sharing.shared(), 1u) << "the program has spread this line itself";
    sharing.freed(memory + 64, 16);
    sharing.freed(memory + 80, 16);
    sharing.handed_out(0, memory + 64, 16);
    sharing.handed_out(1, memory + 80, 16);
    EXPECT_EQ(sharing.shared(), 2u) << "an empty line begins anew";
    EXPECT_EQ(sharing.blocks(), 7u);
}

} // namespace
} // namespace cairn::coherence
