// SPDX-License-Identifier: MIT
//
// WindowMap: an answer for any pointer at all, and each window by itself.
#include <cairn/run/window_map.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace cairn;

namespace {

constexpr std::uintptr_t end_of_addresses = std::uintptr_t{1} << platform::address_bits;

const void *at(std::uintptr_t address) {
    return reinterpret_cast<const void *>(address);
}

TEST(WindowMap, EverythingIsForeignAtFirst) {
    const int on_the_stack = 0;
    for (const std::uintptr_t address :
         {std::uintptr_t{0}, std::uintptr_t{1}, address_of(&on_the_stack), end_of_addresses - 1,
          end_of_addresses, end_of_addresses + window_size, std::uintptr_t{1} << 63, UINTPTR_MAX}) {
        EXPECT_EQ(WindowMap::kind(address), WindowKind::foreign) << address;
    }
}

TEST(WindowMap, KnowsAWindowToItsLastByteAndNoOther) {
    for (const std::uintptr_t window :
         {std::uintptr_t{0}, 5 * window_size, end_of_addresses - 2 * window_size}) {
        for (const WindowKind kind : {WindowKind::segment, WindowKind::huge}) {
            WindowMap::set(at(window), kind);
            EXPECT_EQ(WindowMap::kind(window), kind);
            EXPECT_EQ(WindowMap::kind(window + window_size - 1), kind);
            EXPECT_EQ(WindowMap::kind(window + window_size), WindowKind::foreign);
            EXPECT_EQ(WindowMap::kind(window - 1), WindowKind::foreign);
            WindowMap::set(at(window), WindowKind::foreign);
            EXPECT_EQ(WindowMap::kind(window), WindowKind::foreign);
        }
    }
}

TEST(WindowMap, CoversWhatAProcessCanMap) {
    EXPECT_TRUE(WindowMap::covers(at(window_size), window_size));
    EXPECT_TRUE(WindowMap::covers(at(end_of_addresses - 2 * window_size), window_size));
    EXPECT_FALSE(WindowMap::covers(at(end_of_addresses - window_size), 2 * window_size));
    EXPECT_FALSE(WindowMap::covers(at(end_of_addresses), 1));
    // kind() calls the last window foreign: not a part of it either.
    EXPECT_FALSE(WindowMap::covers(at(end_of_addresses - window_size), 1));
    EXPECT_FALSE(WindowMap::covers(at(end_of_addresses - 2 * window_size), window_size + 1));
}

TEST(WindowMap, RandomWritesAgreeWithTheModel) {
    std::map<std::uintptr_t, WindowKind> model;
    std::mt19937_64 random(3);
    for (int step = 0; step < 20000; ++step) {
        // Mostly close together, so that neighbours are often asked for.
        const std::uintptr_t address = random() % (random() % 4 == 0 ? end_of_addresses : 64 * window_size);
        const auto expected = model.find(address / window_size);
        ASSERT_EQ(WindowMap::kind(address), expected == model.end() ? WindowKind::foreign : expected->second);
        if (random() % 2 == 0) {
            const auto kind = static_cast<WindowKind>(random() % 3);
            WindowMap::set(at(address), kind);
            model[address / window_size] = kind;
        }
    }
    for (const auto &entry : model) {
        WindowMap::set(at(entry.first * window_size), WindowKind::foreign);
    }
}

} // namespace
