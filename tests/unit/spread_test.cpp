// SPDX-License-Identifier: MIT
//
// SpreadSizeClasses: long blocks of any class follow each other at different lines of a page, but for those that have
// to be aligned.
#include <cairn/sizeclass/spread.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace cairn;
using namespace cairn::literals;

namespace {

template <class Classes>
class Spread : public testing::Test {};
using Generated = testing::Types<SpreadSizeClasses<GeometricSizeClasses<8_KiB, 8_KiB>, 64_KiB>,
                                 SpreadSizeClasses<GeometricSizeClasses<8_KiB, 8_KiB, 16>, 32_KiB>,
                                 SpreadSizeClasses<GeometricSizeClasses<4_KiB, 4_KiB>, 64_KiB>,
                                 SpreadSizeClasses<GeometricSizeClasses<8_KiB, 8_KiB>, 8_KiB>>;
TYPED_TEST_SUITE(Spread, Generated);

TYPED_TEST(Spread, EachSizeGoesToTheSmallestClassThatHoldsIt) {
    std::size_t worst = 0;
    for (std::size_t n = 0; n <= TypeParam::largest; ++n) {
        unsigned expected = 0;
        while (TypeParam::size_of(expected) < n) {
            ++expected;
        }
        const bool passed_over = TypeParam::size_of(expected) > TypeParam::table_limit &&
                                 TypeParam::is_natural(expected) && expected + 1 < TypeParam::count;
        expected += passed_over ? 1 : 0;
        ASSERT_EQ(TypeParam::class_of(n), expected) << n;
        if (n >= TypeParam::fine_limit) {
            worst = std::max(worst, ceil_div(TypeParam::size_of(expected) * 1000, n));
        }
    }
    EXPECT_EQ(TypeParam::worst_ratio_permille, worst);
    EXPECT_LE(worst, 1200u) << "Hoard's b";
}

TYPED_TEST(Spread, LongBlocksThatFollowEachOtherBeginAtDifferentLines) {
    for (unsigned c = 0; c < TypeParam::count; ++c) {
        const std::size_t size = TypeParam::size_of(c);
        EXPECT_TRUE(c == 0 || size >= TypeParam::size_of(c - 1));
        if (TypeParam::is_natural(c)) {
            EXPECT_TRUE(size <= TypeParam::table_limit || is_power_of_two(size)) << size;
            continue;
        }
        EXPECT_TRUE(is_aligned(size, platform::cache_line)) << size;
        std::set<std::size_t> lines;
        for (std::size_t i = 0; i < 8; ++i) {
            lines.insert(i * size % platform::smallest_page / platform::cache_line);
        }
        EXPECT_EQ(lines.size(), 8u) << size;
    }
}

TYPED_TEST(Spread, AnAlignedClassIsASmallestThatServes) {
    for (std::size_t alignment = 1; alignment <= TypeParam::largest; alignment *= 2) {
        for (std::size_t n = 0; n <= TypeParam::largest; n += n < 300 ? 1 : 37) {
            unsigned expected = 0;
            while (TypeParam::size_of(expected) < std::max(n, alignment) ||
                   (alignment > platform::cache_line && !TypeParam::is_natural(expected)) ||
                   TypeParam::size_of(expected) % alignment != 0) {
                ++expected;
            }
            const unsigned c = TypeParam::aligned_class_of(n, alignment);
            if (alignment > platform::cache_line) {
                ASSERT_EQ(c, expected) << n << " at " << alignment;
            } else {
                ASSERT_EQ(c, TypeParam::class_of(align_up(std::max(n, alignment), alignment))) << n;
                ASSERT_TRUE(is_aligned(TypeParam::size_of(c), alignment)) << n << " at " << alignment;
            }
        }
    }
}

} // namespace
