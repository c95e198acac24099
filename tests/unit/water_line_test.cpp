// SPDX-License-Identifier: MIT
#include <cairn/core/bits.hpp>
#include <cairn/run/water_line.hpp>

#include <gtest/gtest.h>

namespace {

using cairn::WaterLine;
using namespace cairn; // literals

TEST(WaterLineTest, WhatComesBackToTheLineIsNotAboveIt) {
    WaterLine line;
    EXPECT_EQ(line.taken_above(8_MiB), 8_MiB);
    EXPECT_EQ(line.raise(8_MiB), 8_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 0U);
    EXPECT_EQ(line.raise(2_MiB), 0U);
    EXPECT_EQ(line.touched_above(9_MiB), 1_MiB);
    EXPECT_EQ(line.total(), 8_MiB);
}

TEST(WaterLineTest, ATickForgetsWhatWasBeforeTheLastOne) {
    WaterLine line;
    line.raise(8_MiB);
    line.tick(2_MiB); // 8 MiB was since the last one
    EXPECT_EQ(line.taken_above(8_MiB), 0U);
    line.see(5_MiB); // below the line: nobody raises it
    line.tick(2_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 3_MiB);
    EXPECT_EQ(line.touched_above(8_MiB), 3_MiB);
    line.tick(2_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 6_MiB);
}

TEST(WaterLineTest, ATickRaisesNothing) {
    WaterLine line;
    line.raise(2_MiB);
    line.see(8_MiB);
    line.tick(8_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 6_MiB); // still to be paid for
}

TEST(WaterLineTest, AFallForgetsAtOnce) {
    WaterLine line;
    line.raise(8_MiB);
    line.fall(2_MiB);
    EXPECT_EQ(line.taken_above(3_MiB), 1_MiB);
    EXPECT_EQ(line.touched_above(3_MiB), 1_MiB);
}

TEST(WaterLineTest, WhatIsUnmappedIsNoCredit) {
    WaterLine line;
    line.raise(8_MiB);
    line.lower(3_MiB);
    EXPECT_EQ(line.taken_above(6_MiB), 1_MiB);
    line.tick(2_MiB);
    line.see(4_MiB);
    line.lower(1_MiB); // what was seen is lower too
    line.tick(1_MiB);
    EXPECT_EQ(line.taken_above(6_MiB), 3_MiB);
}

TEST(WaterLineTest, UntouchedMemoryIsTakenAndBelowTheFloorNothingCounts) {
    WaterLine line;
    line.add_untouched(6_MiB);
    EXPECT_EQ(line.touched_above(8_MiB), 2_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 8_MiB);
    line.set_floor(4_MiB);
    EXPECT_EQ(line.taken_above(8_MiB), 0U);
    line.drop_untouched(6_MiB);
    EXPECT_EQ(line.touched_above(8_MiB), 8_MiB);
}

} // namespace
