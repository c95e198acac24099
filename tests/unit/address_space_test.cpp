// SPDX-License-Identifier: MIT
//
// AddressSpace: aligned ranges, side by side, as much as was asked for and no more, also where there is little.
#include "process_memory.hpp"

#include <cairn/run/address_space.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <unistd.h>

using namespace cairn;

namespace {

const std::size_t page = platform::vm::page_size();

char *take(AddressSpace &space, std::size_t bytes) {
    return static_cast<char *>(space.take(bytes, /*dense=*/false));
}

TEST(AddressSpace, TakesAlignedZeroedMemory) {
    AddressSpace space;
    for (const std::size_t bytes : {page, 1_MiB, window_size, 3 * window_size, window_size + page}) {
        const std::size_t before = test::address_space();
        char *const p = take(space, bytes);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
        EXPECT_EQ(test::address_space() - before, bytes) << "no more than was asked for";
        EXPECT_EQ(space.mapped(), bytes);
        EXPECT_EQ(p[0] | p[bytes - 1], 0);
        p[0] = p[bytes - 1] = 1;
        space.give_back(p, bytes);
        EXPECT_EQ(test::address_space(), before);
        EXPECT_EQ(space.mapped(), 0u);
        EXPECT_FALSE(test::mapped(p));
    }
    EXPECT_EQ(space.mapped_peak(), 3 * window_size);
}

TEST(AddressSpace, NeighboursAreOneMappingForTheKernel) {
    AddressSpace space;
    const std::size_t before = test::mappings();
    std::vector<char *> windows;
    for (int i = 0; i < 32; ++i) {
        windows.push_back(take(space, window_size));
        ASSERT_NE(windows.back(), nullptr);
        windows.back()[0] = 1;
    }
    EXPECT_LE(test::mappings(), before + 4);
    for (char *const window : windows) {
        space.give_back(window, window_size);
    }
}

TEST(AddressSpace, ALongStretchInUseIsNoEnd) {
    AddressSpace space;
    char *const first = take(space, window_size);
    ASSERT_NE(first, nullptr);
    const std::size_t stretch = 1000 * window_size;
    void *const foreign = platform::vm::map_at(first - stretch, stretch);
    if (foreign == nullptr) {
        GTEST_SKIP() << "something is there already";
    }
    for (int i = 0; i < 3; ++i) {
        char *const p = take(space, window_size);
        EXPECT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
        space.give_back(p, window_size);
    }
    platform::vm::unmap(foreign, stretch);
    space.give_back(first, window_size);
}

TEST(AddressSpace, GoesRoundWhatIsThereAlready) {
    AddressSpace space;
    char *const first = take(space, window_size);
    ASSERT_NE(first, nullptr);
    std::vector<char *> foreign;
    for (std::size_t i = 1; i <= 20; ++i) {
        if (void *const p = platform::vm::map_at(first - i * window_size, page)) {
            foreign.push_back(static_cast<char *>(p));
            foreign.back()[0] = 42;
        }
    }
    char *const second = take(space, window_size);
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(is_aligned(second, window_size));
    std::memset(second, 1, window_size);
    char *const third = take(space, window_size);
    ASSERT_NE(third, nullptr);
    std::memset(third, 1, window_size);
    for (char *const p : foreign) {
        EXPECT_EQ(p[0], 42);
        platform::vm::unmap(p, page);
    }
    for (char *const p : {first, second, third}) {
        space.give_back(p, window_size);
    }
}

TEST(AddressSpace, TakesAnyAlignment) {
    AddressSpace space;
    for (std::size_t alignment = page; alignment <= 8_GiB; alignment *= 4) {
        const std::size_t before = test::address_space();
        void *const p = space.take_aligned(3 * page, alignment, false, 0);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, alignment));
        EXPECT_EQ(space.mapped(), 3 * page);
        EXPECT_EQ(test::address_space() - before, 3 * page)
            << "what was needed to find the place is given back";
        space.give_back(p, 3 * page);
        EXPECT_EQ(test::address_space(), before);
    }
}

TEST(AddressSpace, ExtendsWhereNothingLies) {
    AddressSpace space;
    char *const p = take(space, 4_MiB);
    ASSERT_NE(p, nullptr);
    space.give_back(p + 1_MiB, 3_MiB); // so that nothing lies there, whatever a sanitizer has mapped
    p[0] = 7;
    ASSERT_TRUE(space.extend(p + 1_MiB, 1_MiB));
    EXPECT_EQ(space.mapped(), 2_MiB);
    EXPECT_EQ(p[0], 7);
    p[2_MiB - 1] = 8;
    void *const foreign = platform::vm::map_at(p + 2_MiB + page, page);
    ASSERT_NE(foreign, nullptr);
    EXPECT_FALSE(space.extend(p + 2_MiB, 1_MiB));
    EXPECT_EQ(space.mapped(), 2_MiB);
    EXPECT_TRUE(test::mapped(foreign));
    EXPECT_FALSE(test::mapped(p + 2_MiB)) << "all or nothing";
    platform::vm::unmap(foreign, page);
    space.give_back(p, 2_MiB);
    EXPECT_EQ(space.mapped_peak(), 4_MiB);
}

TEST(AddressSpace, AWindowThatIsNotKeptLeavesItsPlace) {
    AddressSpace space;
    void *const window = space.reserve();
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(space.mapped(), 0u);
    EXPECT_TRUE(test::mapped(window));
    space.unreserve(window);
    EXPECT_FALSE(test::mapped(window));
    EXPECT_EQ(space.reserve(), window);
    space.unreserve(window);
}

TEST(AddressSpace, WhatNoMachineHasIsNullptr) {
    AddressSpace space;
    const std::size_t before = test::address_space();
    for (const std::size_t bytes :
         {SIZE_MAX - page + 1, SIZE_MAX / 2 + 1, std::size_t{1} << platform::address_bits}) {
        EXPECT_EQ(space.take(bytes, false), nullptr) << bytes;
    }
    EXPECT_EQ(space.mapped(), 0u);
    EXPECT_EQ(test::address_space(), before);
}

TEST(AddressSpace, AsksForHugePagesWhereItIsTold) {
    AddressSpace space;
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
        GTEST_SKIP() << "a kernel without huge pages";
    }
    for (const auto &[use, dense, wanted] :
         {std::tuple{HugePageUse::system, true, false}, std::tuple{HugePageUse::none, true, false},
          std::tuple{HugePageUse::growth, true, false}, std::tuple{HugePageUse::dense, false, false},
          std::tuple{HugePageUse::dense, true, true}, std::tuple{HugePageUse::everywhere, false, true}}) {
        space.use_huge_pages(use);
        void *const p = space.take(window_size, dense);
        ASSERT_NE(p, nullptr);
        EXPECT_EQ(test::flags_of(p).find(" hg") != std::string::npos, wanted)
            << static_cast<int>(use) << dense;
        space.give_back(p, window_size);
    }
}

/// With them the first touch of a page makes 2 MiB resident, and khugepaged brings back what was purged.
TEST(AddressSpace, SegmentsGetNoHugePagesUnasked) {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
        GTEST_SKIP() << "a kernel without huge pages";
    }
    const auto is_refused = [](const char *p) { return test::flags_of(p).find(" nh") != std::string::npos; };
    for (const auto &[use, refused] :
         {std::tuple{HugePageUse::system, false}, std::tuple{HugePageUse::none, true},
          std::tuple{HugePageUse::growth, true}, std::tuple{HugePageUse::dense, true},
          std::tuple{HugePageUse::everywhere, false}}) {
        AddressSpace space;
        space.use_huge_pages(use);
        auto *const whole = static_cast<char *>(space.reserve());
        auto *const part = static_cast<char *>(space.take_for_segment(1_MiB));
        ASSERT_TRUE(whole != nullptr && part != nullptr && space.extend(part + 1_MiB, 1_MiB));
        char *const other = take(space, window_size);
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(is_refused(whole), refused);
        EXPECT_EQ(is_refused(part), refused);
        EXPECT_EQ(is_refused(part + 1_MiB), refused);
        EXPECT_FALSE(is_refused(other)) << "the program decides what it touches of a huge block";
        space.give_back(other, window_size);
        space.give_back(part, 2_MiB);
        space.unreserve(whole);
    }
}

/// Runs f in a child process that may have so much more address space; it ends well if no expectation failed.
template <class F>
void expect_where_space_is_short(std::size_t bytes, F f) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(bytes);
            f();
            _exit(testing::Test::HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST(AddressSpace, AStepIsAWindowOrAPartOfTheLimit) {
    if (platform::vm::address_space_limit() == SIZE_MAX) {
        EXPECT_EQ(AddressSpace::step(), window_size);
    }
    for (const std::size_t limit : {16_MiB, 64_MiB, 256_MiB, 1_GiB, 64_GiB}) {
        expect_where_space_is_short(limit, [&] {
            const std::size_t step = AddressSpace::step();
            EXPECT_TRUE(is_aligned(step, slot_size));
            EXPECT_GE(step, 1_MiB);
            EXPECT_LE(step, window_size);
            EXPECT_LE(step, std::max(1_MiB, platform::vm::address_space_limit() / 32));
        });
    }
}

TEST(AddressSpace, UnderALimitItIsRefusedAndThenGoesOn) {
    expect_where_space_is_short(20_MiB, [] {
        AddressSpace space;
        EXPECT_EQ(space.take(window_size, false), nullptr);
        EXPECT_EQ(space.mapped(), 0u);
        void *const p = space.take(8_MiB, false);
        EXPECT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
        EXPECT_FALSE(space.extend(static_cast<char *>(p) + 8_MiB, 16_MiB));
        EXPECT_NE(space.take(8_MiB, false), nullptr);
        EXPECT_EQ(space.take(8_MiB, false), nullptr);
        EXPECT_EQ(space.mapped(), 16_MiB);
        EXPECT_EQ(space.mapped_peak(), 16_MiB);
        space.give_back(p, 8_MiB);
        EXPECT_NE(space.take(8_MiB, false), nullptr);
    });
}

/// No room to map more than is needed and cut it, so places have to be tried one by one.
TEST(AddressSpace, UnderALimitItFindsAPlaceBehindOthers) {
    AddressSpace space;
    char *const first = take(space, 1_MiB);
    ASSERT_NE(first, nullptr);
    std::vector<void *> foreign;
    for (std::size_t i = 1; i <= 100; ++i) {
        foreign.push_back(platform::vm::map_at(first - i * window_size, page));
    }
    expect_where_space_is_short(20_MiB, [&] {
        void *const p = space.take(8_MiB, false);
        EXPECT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, window_size));
    });
    for (void *const p : foreign) {
        platform::vm::unmap(p, page);
    }
    space.give_back(first, 1_MiB);
}

} // namespace
