// SPDX-License-Identifier: MIT
//
// Comparisons with memory say what a load and a comparison would, at the borders and with all bits.
#include <cairn/platform/cpu.hpp>

#include <gtest/gtest.h>

#include <initializer_list>

namespace cairn::platform {

TEST(Cpu, ComparesWithMemory) {
    constexpr std::uint64_t high = std::uint64_t{1} << 63;
    const std::initializer_list<std::uint64_t> numbers = {0,        1,    0xffffffff, 0x100000000,
                                                          high - 1, high, high + 1,   UINT64_MAX};
    for (const std::uint64_t one : numbers) {
        for (const std::uint64_t other : numbers) {
            const std::atomic<std::uint64_t> word{other};
            EXPECT_EQ(is_now(word, one, std::memory_order_acquire), one == other) << one << ' ' << other;
            EXPECT_EQ(is_below(one, word), one < other) << one << ' ' << other;
            for (const std::uint64_t bytes : numbers) {
                std::uint64_t number = one;
                EXPECT_EQ(is_within(number, other, bytes), one - other < bytes)
                    << one << ' ' << other << ' ' << bytes;
                EXPECT_EQ(number, one - other);
            }
        }
    }
}

TEST(Cpu, ComparesPointersAndNarrowWords) {
    int some[2];
    const std::atomic<int *> pointer{some};
    EXPECT_TRUE(is_now(pointer, &some[0], std::memory_order_relaxed));
    EXPECT_FALSE(is_now(pointer, &some[1], std::memory_order_relaxed));
    int *next = &some[1];
    const char *other = nullptr;
    EXPECT_TRUE(is_now(pointer, &some[0], std::memory_order_acquire, next, other));
    EXPECT_FALSE(is_now(pointer, &some[1], std::memory_order_acquire, next, other));
    EXPECT_EQ(next, &some[1]) << "computed from what was loaded, and still the same";
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(load_address(next, std::memory_order_acquire), &some[1]);
    const struct {
        std::atomic<std::uint16_t> word{0xfff0};
        std::uint16_t behind = 1;
    } narrow;
    EXPECT_TRUE(is_now(narrow.word, std::uint16_t{0xfff0}, std::memory_order_relaxed));
    EXPECT_TRUE(is_below(std::uint16_t{0xffef}, narrow.word));
    EXPECT_FALSE(is_below(std::uint16_t{0xfff0}, narrow.word));
}

} // namespace cairn::platform
