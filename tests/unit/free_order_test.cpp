// SPDX-License-Identifier: MIT
//
// Free order: which orders of frees let a superblock's free fetch ahead, and how far.
#include "window.hpp"

#include <cairn/superblock/carving.hpp>
#include <cairn/superblock/free_order.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace cairn;
using namespace cairn::superblock;

namespace {

class FreeOrderTest : public testing::Test {
protected:
    /// A superblock all of whose blocks are live.
    void make(std::size_t block_size, unsigned slots = 1) {
        s_ = window_.run(8, slots);
        format(s_, 7, block_size, 0, 0x1234567890abcdef, 0);
        blocks_.clear();
        while (carve(s_)) {
            while (!is_end(s_->free)) {
                blocks_.push_back(address_of(pop(s_, span_of(s_))));
            }
        }
    }

    /// What a look finds after these blocks were freed.
    std::int32_t ahead_after(std::initializer_list<unsigned> numbers) {
        for (const unsigned i : numbers) {
            push(s_, blocks_[i]);
        }
        watch_free_order(s_);
        return s_->prefetch_offset;
    }

    test::Window window_;
    OwnerLine *s_ = nullptr;
    std::vector<std::uintptr_t> blocks_; ///< in order of address
};

TEST_F(FreeOrderTest, UpwardsAndDownwards) {
    make(64);
    EXPECT_EQ(s_->prefetch_offset, 0) << "until somebody looks";
    EXPECT_EQ(ahead_after({10, 11, 12}), 256);
    EXPECT_EQ(ahead_after({40, 39, 38}), -256);
    EXPECT_EQ(ahead_after({50, 52, 56}), 256) << "others between them are live, or were freed before";
    EXPECT_EQ(ahead_after({90, 88, 84}), -256);
}

TEST_F(FreeOrderTest, NothingIsFetchedWhereBlocksAreNotFreedOneBehindTheOther) {
    make(64);
    EXPECT_EQ(ahead_after({0}), 0) << "one block has no order";
    EXPECT_EQ(ahead_after({1}), 0) << "nor have two: what is before them is the end of the list";
    EXPECT_EQ(ahead_after({2}), 256);
    EXPECT_EQ(ahead_after({20}), 0) << "too far";
    EXPECT_EQ(ahead_after({21}), 0);
    EXPECT_EQ(ahead_after({22}), 256);
    EXPECT_EQ(ahead_after({18}), 0) << "back";
    EXPECT_EQ(ahead_after({19}), 0) << "and forth";
    EXPECT_EQ(ahead_after({60, 65, 66}), 0);
    EXPECT_EQ(ahead_after({80, 81, 86}), 0);
    EXPECT_EQ(ahead_after({100, 95, 94}), 0);
    EXPECT_EQ(ahead_after({120, 119, 114}), 0);
}

TEST_F(FreeOrderTest, LongBlocksHaveTooFewNeighbours) {
    make(8_KiB);
    EXPECT_EQ(ahead_after({0, 1, 2, 3}), 0);
    make(40_KiB, 8);
    EXPECT_EQ(ahead_after({0, 1, 2, 3}), 0);
    make(4_KiB);
    EXPECT_EQ(ahead_after({0, 1, 2, 3}), 4096);
}

TEST_F(FreeOrderTest, ADamagedLinkIsNotFollowed) {
    make(64);
    push(s_, blocks_[0]);
    push(s_, blocks_[1]);
    word_of(blocks_[1]) ^= std::uint64_t{1} << 40; // to where no memory is
    watch_free_order(s_);
    EXPECT_EQ(s_->prefetch_offset, 0);
}

TEST_F(FreeOrderTest, FourBlocksButTwoLinesAndAKibibyteAtMost) {
    EXPECT_EQ(fetch_distance(8), 128u);
    EXPECT_EQ(fetch_distance(32), 128u);
    EXPECT_EQ(fetch_distance(48), 192u);
    EXPECT_EQ(fetch_distance(256), 1024u);
    EXPECT_EQ(fetch_distance(512), 1024u);
    EXPECT_EQ(fetch_distance(1_KiB), 1_KiB);
    EXPECT_EQ(fetch_distance(8_KiB), 8_KiB);
}

} // namespace
