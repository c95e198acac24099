// SPDX-License-Identifier: MIT
//
// RunHeap, its stripes: what was used before comes first, then what is at home; limits are over all stripes.
#include "process_memory.hpp"

#include <cairn/core/statistics.hpp>
#include <cairn/run/run_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace cairn;

namespace {

constexpr unsigned mebibyte = 1_MiB / slot_size; // in slots

class RunStripesTest : public testing::Test {
protected:
    /// A run that is in use, all of its pages touched.
    OwnerLine *allocate(unsigned slots, unsigned home) {
        const cairn::Run run = runs_.allocate(slots, 1, RunHeap::Touched::now, home);
        if (run.first == nullptr) {
            return nullptr;
        }
        Segment *const segment = Segment::of(run.first);
        segment->set_kinds(segment->slot_of(run.first), slots, SlotKind::large_tail);
        std::fill_n(memory(run.first), span_of(run.first), 'x');
        return run.first;
    }
    static char *memory(const OwnerLine *run) { return reinterpret_cast<char *>(memory_of(run)); }
    static unsigned stripe_of(const OwnerLine *run) { return Segment::of(run)->stripe; }

    /// So many runs of a mebibyte in a stripe, with one behind each that stays.
    std::vector<OwnerLine *> apart(unsigned count, unsigned home) {
        std::vector<OwnerLine *> all;
        for (unsigned i = 0; i < count; ++i) {
            all.push_back(allocate(mebibyte, home));
            allocate(1, home);
        }
        return all;
    }
    void release(const std::vector<OwnerLine *> &all) {
        for (OwnerLine *const run : all) {
            runs_.release(run);
        }
    }

    /// So many mebibytes in each, none of which the next one took.
    void release_in_three_stripes(unsigned count) {
        const std::vector<OwnerLine *> all[] = {apart(count, 0), apart(count, 1), apart(count, 2)};
        for (const std::vector<OwnerLine *> &runs : all) {
            release(runs);
        }
    }

    RunHeap runs_;
};

// The first ones limit address space: later on there are windows of other tests, and what is left would be a small part
// of all.

TEST_F(RunStripesTest, WhereSpaceIsShortAllGoHalves) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(24_MiB);
            std::size_t bytes = 0;
            for (unsigned home = 0; allocate(8, home % RunStripes::most) != nullptr; ++home) {
                bytes += 8 * slot_size;
            }
            EXPECT_GE(bytes, 18_MiB) << "most of it was to be had";
            unsigned segments = 0;
            runs_.for_each_segment([&](const Segment &) { ++segments; });
            EXPECT_LE(segments, 2u);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST(RunStripes, WithoutMemoryForAStripeTheFirstOneServes) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            static constinit RunStripes stripes;
            test::limit_address_space(0);
            unsigned stripe = 3;
            PurgingRuns *const got = &stripes.open(stripe);
            EXPECT_EQ(stripe, 0u);
            unsigned first = 0;
            EXPECT_EQ(got, &stripes.open(first));
            EXPECT_EQ(stripes.count(), 1u);
            EXPECT_EQ(stripes.dirty_bytes(3), 0u);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST(RunStripes, AStripeHasItsOwnMemoryFromTheFirstSegmentOn) {
    static_assert(sizeof(RunStripes) < 2 * sizeof(PurgingRuns), "the others take no memory before");
    static constinit RunStripes stripes;
    unsigned first = 0, fifth = 5;
    PurgingRuns *const got = &stripes.open(fifth);
    EXPECT_EQ(fifth, 5u);
    EXPECT_NE(got, &stripes.open(first));
    EXPECT_EQ(got, &stripes.open(fifth)) << "opened once";
    EXPECT_EQ(stripes.count(), 6u);
    EXPECT_EQ(stripes.purge(0), 0u) << "those that are not open are passed over";
}

/// A process of few threads is small, and has a stripe for each of them.
TEST(RunStripes, AStripeThatHasGrownHasWrittenToOnePage) {
    struct Shown : RunHeap {
        using RunHeap::stripes_;
    };
    static constinit Shown runs;
    const cairn::Run run = runs.allocate(1, 1, RunHeap::Touched::later, 5);
    ASSERT_NE(run.first, nullptr);
    const std::size_t page = platform::vm::page_size();
    const PurgingRuns *const stripe = &runs.stripes_.of(run.first);
    EXPECT_LE(platform::vm::resident_bytes(stripe, align_up(sizeof *stripe, page)), 2 * page)
        << "of another one it has read zeros";
}

/// The limit comes later: what other stripes have is still to be had, and before what lies free goes back.
TEST_F(RunStripesTest, WhereSpaceIsShortAllHaveWhatIsThere) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            OwnerLine *const free = allocate(1, 0);
            allocate(1, 1);
            runs_.release(allocate(RunHeap::longest_run - 1, 1), /*clean=*/true); // all of the window
            test::limit_address_space(0);
            runs_.release(free);
            for (unsigned i = 0; i + 3 < RunHeap::longest_run; i += 3) {
                EXPECT_EQ(stripe_of(allocate(3, 1)), 1u) << i;
            }
            EXPECT_EQ(stripe_of(allocate(3, 1)), 0u);
            EXPECT_EQ(runs_.dirty_bytes(), slot_size);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

/// When space was short part of a window was to be had; now that there is more, it grows for its own stripe alone.
TEST_F(RunStripesTest, APartOfAWindowGrowsForItsOwnStripe) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            void *const taken = platform::vm::map(2_GiB);
            test::limit_address_space(28_MiB);
            OwnerLine *const first = allocate(1, 1);
            EXPECT_LT(Segment::of(first)->mapped_slots, end_of_slots);
            platform::vm::unmap(taken, 1_GiB);
            OwnerLine *const other = allocate(1, 2);
            EXPECT_EQ(stripe_of(other), 2u);
            EXPECT_NE(Segment::of(other), Segment::of(first));
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(RunStripesTest, AThreadsNumberSaysItsHome) {
    EXPECT_EQ(RunHeap::home_of(0), 0u) << "nobody's";
    EXPECT_EQ(RunHeap::home_of(1), 0u) << "the first thread's, the only one of many programs";
    EXPECT_EQ(RunHeap::home_of(2), 1u);
    EXPECT_EQ(RunHeap::home_of(RunStripes::most + 1), 0u);
}

TEST_F(RunStripesTest, WhereSpaceIsPlentyEachHomeGrows) {
    std::set<const Segment *> segments;
    for (unsigned home = 0; home < RunStripes::most; ++home) {
        OwnerLine *const run = allocate(1, home);
        EXPECT_EQ(stripe_of(run), home);
        segments.insert(Segment::of(run));
        EXPECT_EQ(Segment::of(allocate(1, home)), Segment::of(run)) << "while there is room in it";
    }
    EXPECT_EQ(segments.size(), RunStripes::most);
}

TEST_F(RunStripesTest, UsedMemoryComesFirstWhereverItIs) {
    OwnerLine *const here = allocate(2, 1);
    allocate(1, 1);
    OwnerLine *const there = allocate(2, 2);
    allocate(1, 2);
    EXPECT_FALSE(runs_.has_dirty(2, 1));
    runs_.release(there);
    EXPECT_TRUE(runs_.has_dirty(2, 1));
    EXPECT_FALSE(runs_.has_dirty(3, 1));
    EXPECT_EQ(allocate(2, 1), there) << "though the home has memory that nothing has used yet";
    runs_.release(there);
    runs_.release(here);
    EXPECT_EQ(allocate(2, 1), here) << "of two that fit, the one at home";
    EXPECT_EQ(allocate(2, 1), there);
    EXPECT_EQ(stripe_of(allocate(2, 1)), 1u);
}

TEST_F(RunStripesTest, PurgingIsOverAllStripes) {
    release_in_three_stripes(4);
    ASSERT_EQ(runs_.dirty_bytes(), 12_MiB);
    EXPECT_EQ(runs_.purge(5_MiB), 7_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 5_MiB);
    EXPECT_EQ(runs_.purge(5_MiB), 0u);
    EXPECT_EQ(runs_.purge(0), 5_MiB);
}

TEST_F(RunStripesTest, ATickKeepsWhatItIsToldToInAll) {
    release_in_three_stripes(4);
    runs_.purge_idle(6_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 12_MiB) << "all of it was needed since the last one";
    runs_.purge_idle(6_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 6_MiB);
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
}

TEST_F(RunStripesTest, MemoryIsPaidForWithWhatLiesInAnyStripe) {
    constexpr std::size_t slack = PurgingRuns::beside_blocks.slack;
    std::vector<OwnerLine *> free = apart(slack / 1_MiB, 0);
    const std::vector<OwnerLine *> more = apart(8, 1);
    free.insert(free.end(), more.begin(), more.end());
    release(free);
    ASSERT_EQ(runs_.dirty_bytes(), slack + 8_MiB);
    allocate(3 * mebibyte, 2); // longer than what lies there
    EXPECT_EQ(runs_.dirty_bytes(), slack + 5_MiB);
    const std::size_t kept = PurgingRuns::beside_blocks.bytes(runs_.resident_bytes() + 16_MiB);
    allocate(16 * mebibyte, 3);
    EXPECT_EQ(runs_.dirty_bytes() / slot_size, kept / slot_size)
        << "what may lie there beside all that there was";
}

/// A third of it lies in the first stripe and is not enough, half of it does in the second.
TEST_F(RunStripesTest, AMixedRunComesFromWhereMostOfItWasUsed) {
    OwnerLine *const few = allocate(2, 0);
    OwnerLine *const many = allocate(4, 1);
    runs_.release(few);
    runs_.release(many);
    EXPECT_EQ(allocate(6, 0), many);
    EXPECT_EQ(runs_.dirty_bytes(), 2 * slot_size);
    EXPECT_EQ(runs_.allocate(4, 1, RunHeap::Touched::later, 0).first, few + 2)
        << "a superblock's is of one kind";
    EXPECT_EQ(allocate(6, 0), few + 6) << "one that nothing has used";
}

TEST_F(RunStripesTest, TheStatisticsAreOverAllStripes) {
    const std::vector<OwnerLine *> a = apart(1, 0);
    const std::vector<OwnerLine *> b = apart(2, 1);
    release(a);
    runs_.purge(0);
    release(b);
    Statistics now;
    runs_.statistics(now);
    EXPECT_EQ(now.free_dirty, 2_MiB);
    EXPECT_EQ(now.purged, 1_MiB);
    std::size_t slots = 0;
    runs_.for_each_segment([&](const Segment &segment) { slots += segment.mapped_slots; });
    EXPECT_EQ(now.mapped, slots * slot_size);
    EXPECT_EQ(runs_.resident_bytes(), 2_MiB + 3 * slot_size);
}

TEST_F(RunStripesTest, TheListsAreMadeAnewInTheChildOfAFork) {
    const std::vector<OwnerLine *> a = apart(2, 0);
    const std::vector<OwnerLine *> b = apart(3, 1);
    runs_.release(a[0]);
    runs_.release(b[0]);
    runs_.repair_after_fork();
    EXPECT_EQ(runs_.dirty_bytes(), 2_MiB);
    EXPECT_EQ(allocate(mebibyte, 1), b[0]);
    runs_.release(b[1]);
    EXPECT_EQ(allocate(mebibyte, 1), b[1]);
}

/// Threads with homes of their own, whose runs pass from one to the other: no two runs overlap, and at the end
/// everything lies free.
TEST_F(RunStripesTest, RunsOfManyThreadsAreApart) {
    constexpr unsigned threads = 4;
    constexpr int rounds = platform::sanitized ? 2000 : 20000;
    struct Held {
        OwnerLine *run;
        unsigned mark;
    };
    std::mutex lock;
    std::vector<Held> shared;
    const auto work = [&](unsigned self) {
        std::mt19937 random(self);
        std::vector<Held> mine;
        const auto drop = [&](const Held &held) {
            const auto *const words = reinterpret_cast<const unsigned *>(memory(held.run));
            for (unsigned slot = 0; slot < held.run->slots; ++slot) {
                ASSERT_EQ(words[slot * (slot_size / sizeof(unsigned))], held.mark);
            }
            runs_.release(held.run);
        };
        for (int i = 0; i < rounds; ++i) {
            if (random() % 2 == 0) {
                const unsigned slots = 1 + static_cast<unsigned>(random() % 12);
                const cairn::Run run = runs_.allocate(slots, 1, RunHeap::Touched::now, self);
                ASSERT_NE(run.first, nullptr);
                const unsigned mark = self * rounds + static_cast<unsigned>(i);
                auto *const words = reinterpret_cast<unsigned *>(memory(run.first));
                for (unsigned slot = 0; slot < slots; ++slot) {
                    words[slot * (slot_size / sizeof(unsigned))] = mark;
                }
                mine.push_back({run.first, mark});
            } else if (!mine.empty()) {
                std::swap(mine[random() % mine.size()], mine.back());
                Held held = mine.back();
                mine.pop_back();
                if (random() % 4 == 0) {
                    const std::lock_guard hold(lock);
                    shared.push_back(held);
                    std::swap(shared[random() % shared.size()], shared.back());
                    held = shared.back();
                    shared.pop_back();
                }
                drop(held);
            }
            if (random() % 500 == 0) {
                runs_.purge(random() % 2 == 0 ? 0 : 4_MiB);
            }
        }
        for (const Held &held : mine) {
            drop(held);
        }
    };
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) {
        all.emplace_back(work, i);
    }
    for (std::thread &thread : all) {
        thread.join();
    }
    EXPECT_EQ(runs_.dirty_bytes(), runs_.resident_bytes());
    runs_.purge(0);
    EXPECT_EQ(runs_.resident_bytes(), 0u);
}

} // namespace
