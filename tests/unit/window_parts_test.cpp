// SPDX-License-Identifier: MIT
//
// Window parts: a run heap may use little more than it needs, and what it may use grows where it is.
#include "process_memory.hpp"

#include <cairn/run/run_heap.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

using namespace cairn;

namespace {

class WindowPartsTest : public testing::Test {
protected:
    OwnerLine *allocate(unsigned slots, unsigned home = 0) {
        OwnerLine *const run = runs_.allocate(slots, 1, RunHeap::Touched::now, home).first;
        if (run != nullptr) {
            Segment *const segment = Segment::of(run);
            segment->set_kinds(segment->slot_of(run), slots, SlotKind::large_tail);
        }
        return run;
    }
    static char *end_of(const OwnerLine *run) {
        return reinterpret_cast<char *>(memory_of(run)) + span_of(run);
    }
    /// From now on at most `bytes` more that may be written.
    static void limit_writable(std::size_t bytes) {
        std::ifstream statm("/proc/self/statm");
        std::size_t pages = 0;
        for (int i = 0; i < 6; ++i) { // the sixth number, with the stack
            statm >> pages;
        }
        bytes += pages * platform::vm::page_size();
        const rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_DATA, &limit);
    }
    std::size_t mapped() { return runs_.space().mapped(); }

    RunHeap runs_;
};

TEST_F(WindowPartsTest, WindowsOfSegmentsFollowEachOther) {
    if (platform::sanitized) {
        GTEST_SKIP() << "the row has no place that only it uses";
    }
    for (unsigned home = 0; home < RunStripes::most; ++home) {
        allocate(RunHeap::longest_run, home);
        void *const others = runs_.space().take(window_size, /*dense=*/false);
        EXPECT_FALSE(in_segment(address_of(others)));
        runs_.space().give_back(others, window_size);
    }
    unsigned count = 0;
    runs_.for_each_segment([&](const Segment &segment) {
        ++count;
        EXPECT_TRUE(WindowRow::holds(address_of(&segment)));
    });
    EXPECT_GE(count, 4u);
}

TEST_F(WindowPartsTest, AnEighthMoreThanThereIsMayBeUsed) {
    allocate(1);
    EXPECT_EQ(mapped(), 2_MiB);
    for (unsigned home = 1; home < RunStripes::most; ++home) {
        allocate(1, home);
    }
    EXPECT_EQ(mapped(), RunStripes::most * 2_MiB) << "each home has a window";
    std::size_t used = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        used += span_of(allocate(7));
        EXPECT_LE(mapped(), used + used / 4 + 20_MiB);
    }
    unsigned elsewhere = 0;
    runs_.for_each_segment([&](const Segment &segment) {
        elsewhere += segment.mapped_slots % (2_MiB / slot_size) != 0 && segment.mapped_slots != end_of_slots;
    });
    EXPECT_EQ(elsewhere, 0u) << "a part that ends in the middle of a huge page costs that";
    EXPECT_EQ(runs_.line().total(), used + RunStripes::most * slot_size) << "in whole windows too";
}

TEST_F(WindowPartsTest, WhatIsNotToBeUsedYetIsReserved) {
    OwnerLine *const run = allocate(1);
    const Segment &segment = *Segment::of(run);
    char *const behind = reinterpret_cast<char *>(segment.address_of_slot(segment.mapped_slots));
    EXPECT_DEATH(*behind = 1, "");
    EXPECT_EQ(platform::vm::map_at(behind, slot_size), nullptr);
    const OwnerLine *other = run;
    while (segment.mapped_slots < end_of_slots) {
        other = allocate(1);
        ASSERT_EQ(Segment::of(other), &segment);
        end_of(other)[-1] = 1;
    }
}

TEST_F(WindowPartsTest, ARunGrowsInPlaceToTheEndOfItsWindow) {
    OwnerLine *const run = allocate(1);
    for (const unsigned slots : {2u, 40u, 41u, 300u, RunHeap::longest_run}) {
        ASSERT_TRUE(runs_.extend(run, slots, SlotKind::large_tail)) << slots;
        end_of(run)[-1] = 1;
    }
    EXPECT_FALSE(runs_.extend(run, RunHeap::longest_run + 1, SlotKind::large_tail));
    EXPECT_EQ(runs_.resident_bytes(), span_of(run));
}

TEST_F(WindowPartsTest, NotWhereAnotherOneIsBehindIt) {
    OwnerLine *const run = allocate(2);
    const OwnerLine *const behind = allocate(1);
    ASSERT_EQ(behind, run + 2);
    const std::size_t before = mapped();
    EXPECT_FALSE(runs_.extend(run, 3, SlotKind::large_tail));
    EXPECT_FALSE(runs_.extend(run, 100, SlotKind::large_tail));
    EXPECT_EQ(mapped(), before);
}

/// Where the kernel maps nothing more, what is reserved is there still, whosever stripe it is.
TEST_F(WindowPartsTest, WhatAnotherHomeHasReservedServesAll) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            allocate(1, 1);
            allocate(1, 2);
            test::limit_address_space(0);
            unsigned slots = 2;
            while (allocate(1) != nullptr) {
                ++slots;
            }
            EXPECT_EQ(slots, 2 * RunHeap::longest_run);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

/// Another thread was about to change the list of segments that may grow when its process forked.
TEST_F(WindowPartsTest, TheListIsMadeAnewInTheChildOfAFork) {
    allocate(1, 1);
    Segment &first = *Segment::of(allocate(1));
    first.may_grow = false; // but in the list
    runs_.repair_after_fork();
    EXPECT_TRUE(first.may_grow);
    EXPECT_NE(first.next_to_grow, &first);
    first.may_grow = true; // but not in it
    first.next_to_grow = nullptr;
    runs_.repair_after_fork();
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(Segment::of(allocate(1, 1))->stripe, 1u);
        EXPECT_EQ(Segment::of(allocate(1)), &first);
    }
}

TEST_F(WindowPartsTest, WhereTheKernelAllowsLessItTakesLess) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs memory without limit";
    }
    EXPECT_EXIT(
        {
            for (int i = 0; i < 10; ++i) {
                allocate(200);
            }
            const std::size_t before = mapped();
            limit_writable(1_MiB);
            while (allocate(1) != nullptr) {
            }
            EXPECT_LE(mapped(), before + 2_MiB);
            EXPECT_GE(mapped(), before + 1_MiB - 2 * slot_size);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

/// Metadata and a slot at the end are no memory that is taken: where that slot is not mapped it does not count as if it
/// were.
TEST_F(WindowPartsTest, TheAccountIsRightWhereWindowsAreMappedInParts) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(100_MiB);
            OwnerLine *const run = allocate(1);
            runs_.release(run);
            runs_.purge(0);
            runs_.pay(PurgingRuns::beside_blocks);
            EXPECT_LE(runs_.line().total(), 2 * slot_size);
            EXPECT_TRUE(runs_.would_grow(slot_size));
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

} // namespace
