// SPDX-License-Identifier: MIT
//
// RunHeap: what lies free at the ends of segments is address space that goes back, and that a segment takes again.
#include "process_memory.hpp"

#include <cairn/run/run_heap.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

using namespace cairn;

namespace {

constexpr unsigned half = RunHeap::longest_run / 2;

class CutEndsTest : public testing::Test {
protected:
    void SetUp() override { limit(1_GiB * 1_GiB); }
    void TearDown() override { limit(RLIM_INFINITY); }

    /// With a limit, however high, what is free goes back.
    static void limit(std::size_t bytes) {
        rlimit now{};
        getrlimit(RLIMIT_AS, &now);
        now.rlim_cur = std::min<rlim_t>(bytes, now.rlim_max);
        setrlimit(RLIMIT_AS, &now);
    }

    static char *memory(const OwnerLine *run) { return reinterpret_cast<char *>(memory_of(run)); }
    static char *end_of(const Segment &segment) {
        return reinterpret_cast<char *>(segment.address_of_slot(segment.mapped_slots));
    }

    OwnerLine *allocate(unsigned slots) {
        OwnerLine *const run = runs_.allocate(slots).first;
        if (run != nullptr) {
            Segment *const segment = Segment::of(run);
            segment->set_kinds(segment->slot_of(run), slots, SlotKind::large_tail);
            std::fill_n(memory(run), span_of(run), 'x');
        }
        return run;
    }
    unsigned segments() const {
        unsigned count = 0;
        runs_.for_each_segment([&](const Segment &) { ++count; });
        return count;
    }
    std::size_t mapped() { return runs_.space().mapped(); }

    RunHeap runs_;
};

TEST_F(CutEndsTest, WhatIsFreeBehindTheLastRunIsUnmapped) {
    OwnerLine *const first = allocate(3);
    OwnerLine *const second = allocate(5);
    ASSERT_EQ(second, first + 3);
    const std::size_t before = mapped();
    const unsigned slots = Segment::of(first)->mapped_slots;
    EXPECT_TRUE(runs_.give_up());
    EXPECT_EQ(Segment::of(first)->mapped_slots, metadata_slots + 8);
    EXPECT_EQ(mapped(), before - (slots - metadata_slots - 8) * slot_size);
    EXPECT_EQ(runs_.resident_bytes(), 8 * slot_size);
    EXPECT_FALSE(test::mapped(memory(second) + span_of(second)));
    EXPECT_EQ(memory(second)[span_of(second) - 1], 'x');
    EXPECT_EQ(Segment::of(first)->kind(metadata_slots + 8), SlotKind::unmapped);
    runs_.give_up();
    EXPECT_EQ(Segment::of(first)->mapped_slots, metadata_slots + 8) << "there is nothing more";
    runs_.release(second); // dirty
    EXPECT_TRUE(runs_.give_up());
    EXPECT_EQ(Segment::of(first)->mapped_slots, metadata_slots + 3);
    EXPECT_FALSE(test::mapped(memory(second)));
}

TEST_F(CutEndsTest, WhatTheKernelDoesNotPurgeStays) {
    OwnerLine *const run = allocate(1);
    if (platform::sanitized || mlock(memory(run), slot_size) != 0) {
        GTEST_SKIP() << "no memory may be locked, or a sanitizer only says that it is";
    }
    runs_.release(run);
    runs_.give_up();
    runs_.give_up();
    EXPECT_EQ(Segment::of(run)->mapped_slots, metadata_slots + 1);
    EXPECT_EQ(memory(run)[0], 'x');
    munlock(memory(run), slot_size);
}

TEST_F(CutEndsTest, ThatIsWhereItGrowsAgainAndReadsAsZero) {
    OwnerLine *const first = allocate(half);
    OwnerLine *const second = allocate(half);
    OwnerLine *const third = allocate(half);
    OwnerLine *const fourth = allocate(half);
    ASSERT_EQ(segments(), 2u);
    runs_.release(second);
    runs_.release(third);
    runs_.release(fourth);
    ASSERT_TRUE(runs_.give_up());
    EXPECT_EQ(Segment::of(fourth)->mapped_slots, metadata_slots);
    const std::size_t before = mapped();
    for (int i = 0; i < 3; ++i) {
        const cairn::Run run = runs_.allocate(half);
        ASSERT_NE(run.first, nullptr);
        EXPECT_TRUE(run.clean);
        EXPECT_EQ(memory(run.first)[0], 0);
        EXPECT_EQ(memory(run.first)[span_of(run.first) - 1], 0);
    }
    EXPECT_EQ(segments(), 2u);
    EXPECT_LE(mapped(), before + 2 * window_size);
    EXPECT_EQ(memory(first)[0], 'x');
}

TEST_F(CutEndsTest, WhatSomebodyElseMapsThereStays) {
    OwnerLine *const first = allocate(half);
    ASSERT_TRUE(runs_.give_up());
    Segment &segment = *Segment::of(first);
    char *const place = end_of(segment);
    void *const foreign = platform::vm::map_at(place, slot_size);
    ASSERT_NE(foreign, nullptr);
    *static_cast<char *>(foreign) = 7;
    const OwnerLine *const other = allocate(half);
    ASSERT_NE(other, nullptr);
    EXPECT_NE(Segment::of(other), &segment);
    EXPECT_EQ(*static_cast<char *>(foreign), 7);
    EXPECT_EQ(segment.most_slots, segment.mapped_slots) << "it is not tried again each time";
    // Gone, it leaves room again, from the next time on that memory goes back.
    platform::vm::unmap(foreign, slot_size);
    runs_.purge(0);
    const OwnerLine *const third = allocate(half);
    const OwnerLine *const fourth = allocate(half);
    EXPECT_TRUE(memory(third) == place || memory(fourth) == place);
    EXPECT_EQ(segments(), 2u);
}

TEST_F(CutEndsTest, ASegmentGrowsByWhatALimitLeaves) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            const Segment &segment = *Segment::of(allocate(1));
            runs_.give_up();
            void *const reserve = platform::vm::map(window_size * 16);
            test::limit_address_space(0);
            const std::size_t step = AddressSpace::step();
            platform::vm::unmap(reserve, step + 2_MiB);
            while (runs_.allocate(1).first != nullptr) {
            }
            EXPECT_LT(step, window_size - 4_MiB) << "there would be room for more";
            EXPECT_GT(segment.mapped_slots * slot_size, step + 1_MiB);
            EXPECT_EQ(segments(), 1u);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(CutEndsTest, WhereSpaceIsLimitedItGoesBackWithTheMemory) {
    OwnerLine *const run = allocate(half);
    OwnerLine *const one = allocate(1);
    const Segment &segment = *Segment::of(run);
    const unsigned slots = segment.mapped_slots;
    limit(RLIM_INFINITY);
    runs_.purge(0);
    EXPECT_EQ(segment.mapped_slots, slots);
    runs_.release(one);
    EXPECT_FALSE(runs_.give_up());
    EXPECT_EQ(segment.mapped_slots, slots);
    EXPECT_EQ(runs_.dirty_bytes(), slot_size) << "purging it would not help";
    limit(1_GiB * 1_GiB);
    runs_.purge(0);
    EXPECT_EQ(segment.mapped_slots, metadata_slots + half);
    runs_.release(run);
    runs_.purge_idle(0);
    runs_.purge_idle(0);
    EXPECT_EQ(segment.mapped_slots, metadata_slots);
}

} // namespace
