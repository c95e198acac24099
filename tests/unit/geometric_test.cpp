// SPDX-License-Identifier: MIT
//
// GeometricSizeClasses: every size goes to the smallest class that holds it, and the classes keep their bounds.
// The header proves its borders when it is compiled; here every single size is looked at, by another way.
#include <cairn/sizeclass/geometric.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace cairn;

namespace {

template <class Classes>
class Geometric : public testing::Test {
protected:
    static std::vector<std::size_t> sizes() {
        std::vector<std::size_t> all;
        for (unsigned c = 0; c < Classes::count; ++c) {
            all.push_back(Classes::size_of(c));
        }
        return all;
    }
};

using Generated = testing::Types<GeometricSizeClasses<64_KiB, 8_KiB>, GeometricSizeClasses<8_KiB, 8_KiB>,
                                 GeometricSizeClasses<32_KiB, 1_KiB, 16>, GeometricSizeClasses<256, 256>>;
TYPED_TEST_SUITE(Geometric, Generated);

TYPED_TEST(Geometric, EverySizeGoesToTheSmallestClassThatHoldsIt) {
    const std::vector<std::size_t> sizes = this->sizes();
    ASSERT_EQ(std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()), sizes.end())
        << "sizes must rise";
    for (std::size_t n = 0; n <= TypeParam::largest; ++n) {
        const auto expected = std::lower_bound(sizes.begin(), sizes.end(), n) - sizes.begin();
        ASSERT_EQ(TypeParam::class_of(n), expected) << n;
        if (n <= TypeParam::table_limit) {
            ASSERT_EQ(TypeParam::small_class_of(n), expected) << n;
        }
    }
    EXPECT_EQ(sizes.back(), TypeParam::largest);
}

TYPED_TEST(Geometric, NoBlockIsMuchLargerThanTheRequest) {
    std::size_t worst = 0;
    for (std::size_t n = 1; n <= TypeParam::largest; ++n) {
        const std::size_t size = TypeParam::size_of(TypeParam::class_of(n));
        if (n < TypeParam::fine_limit) {
            ASSERT_LE(size - n, 15u) << n;
        } else {
            worst = std::max(worst, ceil_div(size * 1000, n));
            ASSERT_LE(size * TypeParam::steps, n * (TypeParam::steps + 1)) << n;
        }
        if (n >= 128) {
            ASSERT_LE(size * 10, n * 12) << n << ": Hoard's b = 1.2";
        }
    }
    EXPECT_EQ(TypeParam::worst_ratio_permille, worst);
}

TYPED_TEST(Geometric, EachClassKeepsTheAlignmentOfMalloc) {
    EXPECT_EQ(TypeParam::size_of(0), 8u);
    for (const std::size_t size : this->sizes()) {
        if (size != 8) {
            EXPECT_TRUE(is_aligned(size, 16)) << size;
        }
    }
}

TYPED_TEST(Geometric, AnAlignedClassIsTheSmallestThatServes) {
    const std::vector<std::size_t> sizes = this->sizes();
    for (std::size_t alignment = 1; alignment <= TypeParam::largest; alignment *= 2) {
        for (std::size_t n = 0; n <= TypeParam::largest; n += n < 300 ? 1 : 37) {
            const auto serves = [=](std::size_t size) {
                return size >= n && size >= alignment && size % alignment == 0;
            };
            const auto expected = std::find_if(sizes.begin(), sizes.end(), serves) - sizes.begin();
            ASSERT_EQ(TypeParam::aligned_class_of(n, alignment), expected) << n << " at " << alignment;
        }
    }
}

} // namespace
