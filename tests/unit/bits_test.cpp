// SPDX-License-Identifier: MIT
//
// Bits: powers of two and rounding, against what they mean; words that are drawn by a key, against those that SipHash's
// authors have published.
#include <cairn/core/bits.hpp>
#include <cairn/platform/random.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

constexpr std::size_t top = SIZE_MAX / 2 + 1;

TEST(Bits, DrawIsSipHash) {
    static_assert(platform::draw({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, 0x0706050403020100u) ==
                  0x93f5f5799a932462u);
    EXPECT_NE(platform::draw({1, 2}, 3), platform::draw({1, 2}, 4));
    EXPECT_NE(platform::secret(), 0u);
}

TEST(Bits, Literals) {
    static_assert(3_KiB == 3 * 1024 && 3_MiB == 3 * 1024 * 1024 &&
                  3_GiB == std::size_t{3} * 1024 * 1024 * 1024);
}

TEST(Bits, PowersOfTwoAreKnown) {
    EXPECT_FALSE(is_power_of_two(0));
    EXPECT_FALSE(is_power_of_two(SIZE_MAX));
    for (unsigned k = 0; k < 64; ++k) {
        const std::size_t power = std::size_t{1} << k;
        EXPECT_TRUE(is_power_of_two(power));
        EXPECT_EQ(is_power_of_two(power + 1), k == 0) << k;
        EXPECT_EQ(log2_exact(power), k);
        EXPECT_EQ(log2_floor(power), k);
        EXPECT_EQ(log2_floor(power | (power - 1)), k);
    }
}

TEST(Bits, RoundingGoesToTheNearestMultiple) {
    for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
        for (std::size_t n = 0; n < 1000; ++n) {
            const std::size_t up = align_up(n, alignment);
            const std::size_t down = align_down(n, alignment);
            EXPECT_TRUE(up % alignment == 0 && up >= n && up - n < alignment) << n;
            EXPECT_TRUE(down % alignment == 0 && down <= n && n - down < alignment) << n;
            EXPECT_EQ(is_aligned(n, alignment), n % alignment == 0) << n;
        }
    }
}

TEST(Bits, RoundingAtTheTop) {
    EXPECT_EQ(align_down(SIZE_MAX, 16), SIZE_MAX - 15);
    EXPECT_EQ(align_up(SIZE_MAX - 15, 16), SIZE_MAX - 15);
    EXPECT_EQ(align_up(SIZE_MAX - 14, 16), 0u) << "wraps, as it says";
    EXPECT_EQ(align_up(top, top), top);
    EXPECT_EQ(align_down(SIZE_MAX, top), top);
}

TEST(Bits, DivisionRoundsUp) {
    for (std::size_t d = 1; d < 20; ++d) {
        for (std::size_t n = 0; n < 200; ++n) {
            EXPECT_EQ(ceil_div(n, d), n / d + (n % d != 0)) << n << " / " << d;
        }
    }
}

TEST(Bits, AddressesAreNumbers) {
    alignas(64) const char bytes[65] = {};
    EXPECT_EQ(address_of(bytes + 1), address_of(bytes) + 1);
    EXPECT_TRUE(is_aligned(bytes, 64));
    EXPECT_FALSE(is_aligned(bytes + 1, 2));
}

} // namespace
