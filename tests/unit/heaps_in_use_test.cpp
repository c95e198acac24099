// SPDX-License-Identifier: MIT
//
// Heaps in use: a few for each processor keep all that the discipline allows, more of them as much as those together.
#include <cairn/superblock/heaps_in_use.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

TEST(HeapsInUse, ManyShareWhatAFewMayKeep) {
    constexpr std::size_t bytes = 1 << 20;
    const unsigned few = HeapsInUse::for_each_processor * platform::processors();
    HeapsInUse heaps;
    EXPECT_EQ(heaps.together(bytes), 0u);
    for (unsigned i = 1; i <= few; ++i) {
        heaps.opened();
        EXPECT_EQ(heaps.share(bytes), bytes);
        EXPECT_EQ(heaps.together(bytes), i * bytes);
    }
    for (unsigned i = few + 1; i <= 4 * few; ++i) {
        heaps.opened();
        EXPECT_EQ(heaps.share(bytes), bytes * few / i);
        EXPECT_EQ(heaps.together(bytes), few * bytes) << "however many there are";
    }
    for (unsigned i = 0; i < 3 * few; ++i) {
        heaps.closed();
    }
    EXPECT_EQ(heaps.share(bytes), bytes);
    EXPECT_EQ(heaps.peak(), 4 * few);
    heaps.forget();
    EXPECT_EQ(heaps.together(bytes), 0u);
    EXPECT_EQ(heaps.peak(), 0u);
}

} // namespace
