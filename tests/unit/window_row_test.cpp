// SPDX-License-Identifier: MIT
//
// WindowRow: windows that follow each other, and what is not one of them. There is one row in a process, so the tests
// go on with it in the order in which they stand.
#include <cairn/run/window_row.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

constexpr std::uintptr_t start = 1000 * window_size;

const void *at(std::uintptr_t address) {
    return reinterpret_cast<const void *>(address);
}

TEST(WindowRow, GrowsByTheNextWindowAndNoOther) {
    for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1}, start, UINTPTR_MAX / 2}) {
        EXPECT_FALSE(WindowRow::holds(address)) << address;
        EXPECT_FALSE(in_segment(address)) << address;
    }
    EXPECT_EQ(WindowRow::end(), 0u);
    WindowRow::add(at(start));
    WindowRow::add(at(start + 2 * window_size)); // something else lies between
    WindowRow::add(at(start - window_size));
    EXPECT_EQ(WindowRow::end(), start + window_size);
    EXPECT_FALSE(WindowRow::holds(start - 1));
    EXPECT_TRUE(WindowRow::holds(start));
    EXPECT_TRUE(WindowRow::holds(start + window_size - 1));
    EXPECT_FALSE(WindowRow::holds(start + window_size));
    EXPECT_TRUE(in_segment(start - 1));
    EXPECT_FALSE(in_segment(start - window_size - 1));
    EXPECT_FALSE(in_segment(start + window_size)) << "nobody has it";
    EXPECT_TRUE(in_segment(start + 2 * window_size));
    EXPECT_FALSE(in_segment(start + 3 * window_size));
    for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1} << 63, UINTPTR_MAX}) {
        EXPECT_FALSE(in_segment(address)) << address;
    }

    WindowRow::add(at(start + window_size));
    EXPECT_EQ(WindowRow::end(), start + 2 * window_size) << "what was there before does not join";
    EXPECT_TRUE(WindowRow::holds(start + window_size));
    WindowRow::add(at(start));
    EXPECT_EQ(WindowRow::end(), start + 2 * window_size);
}

TEST(WindowRow, AnAddressOfASegmentHasItsLowerBits) {
    constexpr std::uintptr_t inside = 7 * slot_size + 12345;
    WindowMap::set(at(start - 5 * window_size), WindowKind::segment);
    for (const std::uintptr_t window :
         {start, start + window_size, start - 5 * window_size}) { // two of the row, one that is not
        std::uintptr_t low = 0;
        EXPECT_TRUE(in_segment(window + inside, low));
        EXPECT_EQ(low % window_size, inside);
        EXPECT_EQ(owner_line_at(window + inside, low), &Segment::of(window)->owner_lines[7]);
        EXPECT_EQ(shared_line_at(window + inside), &Segment::of(window)->shared_lines[7]);
    }
}

TEST(WindowRow, HasSegmentsAloneWhileThreadsAdd) {
    constexpr unsigned windows = 2000;
    const std::uintptr_t from = WindowRow::end() + window_size; // behind the one that did not join
    WindowMap::set(at(WindowRow::end()), WindowKind::foreign);
    WindowRow::add(at(WindowRow::end()));
    std::atomic<unsigned> next = 0;
    std::atomic<unsigned> writing = 2;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (unsigned i; (i = next++) < windows;) {
                WindowRow::add(at(from + i * window_size));
            }
            --writing;
        });
    }
    while (writing != 0) {
        const std::uintptr_t here = from + next * window_size;
        for (std::uintptr_t window = here - 8 * window_size; window != here + 8 * window_size;
             window += window_size) {
            if (WindowRow::holds(window)) {
                EXPECT_EQ(WindowMap::kind(window), WindowKind::segment);
            }
        }
    }
    std::for_each(threads.begin(), threads.end(), [](std::thread &thread) { thread.join(); });
    EXPECT_GE(WindowRow::end(), from);
    EXPECT_LE(WindowRow::end(), from + windows * window_size);
    EXPECT_TRUE(in_segment(from + windows * window_size - 1));
}

TEST(WindowRow, BeginsFarBelowTheKernelsMappings) {
    const std::uintptr_t high = (std::uintptr_t{1} << platform::address_bits) - 12345 * window_size;
    EXPECT_EQ(WindowRow::start(high) % window_size, 0u);
    EXPECT_LE(WindowRow::start(high + 4096), high);
    if (!platform::sanitized) {
        EXPECT_EQ(high - WindowRow::start(high), std::uintptr_t{1} << (platform::address_bits - 4));
        EXPECT_GE(WindowRow::start(64 * window_size), 32 * window_size) << "few address bits";
    }
}

} // namespace
