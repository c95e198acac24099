// SPDX-License-Identifier: MIT
//
// RunHeap: runs that are aligned, apart and clean when it says so; memory that goes back when it should.
#include "process_memory.hpp"

#include <cairn/core/statistics.hpp>
#include <cairn/run/run_heap.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace cairn;

namespace {

constexpr unsigned mebibyte = 1_MiB / slot_size; // in slots

class RunHeapTest : public testing::Test {
protected:
    static char *memory(const cairn::Run &run) { return reinterpret_cast<char *>(memory_of(run.first)); }
    static void touch(const cairn::Run &run) { std::fill_n(memory(run), span_of(run.first), 'x'); }
    static std::size_t resident(const cairn::Run &run) {
        return test::resident(memory(run), span_of(run.first));
    }

    /// A run that is in use.
    cairn::Run allocate(unsigned slots, unsigned alignment = 1,
                        RunHeap::Touched touched = RunHeap::Touched::now) {
        const cairn::Run run = runs_.allocate(slots, alignment, touched);
        if (run.first != nullptr) {
            Segment *const segment = Segment::of(run.first);
            segment->set_kinds(segment->slot_of(run.first), slots, SlotKind::large_tail);
        }
        return run;
    }

    cairn::Run touched(unsigned slots) {
        const cairn::Run run = allocate(slots);
        EXPECT_NE(run.first, nullptr);
        touch(run);
        return run;
    }

    /// So many runs, touched, with one of their length between each two, so that they do not join when they are free.
    std::vector<cairn::Run> apart(unsigned count, unsigned slots) {
        std::vector<cairn::Run> all;
        for (unsigned i = 0; i < count; ++i) {
            all.push_back(touched(slots));
            allocate(slots);
        }
        return all;
    }
    void release(const std::vector<cairn::Run> &all) {
        for (const cairn::Run &run : all) {
            runs_.release(run.first);
        }
    }

    RunHeap runs_; // its windows stay mapped when it ends: 32 MiB of addresses
};

TEST_F(RunHeapTest, RunsHaveTheirLengthAndAlignment) {
    for (const unsigned slots : {1u, 2u, 8u, 17u, 256u, RunHeap::longest_run}) {
        for (unsigned alignment = 1; alignment <= slots && alignment * 2 <= slots_per_segment;
             alignment *= 2) {
            if (slots + alignment > RunHeap::longest_run && alignment > 1) {
                continue;
            }
            const cairn::Run run = allocate(slots, alignment);
            ASSERT_NE(run.first, nullptr) << slots << " at " << alignment;
            EXPECT_EQ(run.first->slots, slots);
            EXPECT_TRUE(is_aligned(memory(run), alignment * slot_size));
            EXPECT_EQ(WindowMap::kind(address_of(memory(run))), WindowKind::segment);
            memory(run)[span_of(run.first) - 1] = 1;
            runs_.release(run.first);
        }
    }
}

TEST_F(RunHeapTest, HalfASegmentMayBeAlignedToHalfItsLength) {
    for (int i = 0; i < 3; ++i) {
        const cairn::Run run = allocate(slots_per_segment / 2, slots_per_segment / 4);
        ASSERT_NE(run.first, nullptr);
        EXPECT_TRUE(is_aligned(memory(run), window_size / 4));
    }
}

TEST_F(RunHeapTest, WhoWritesOnBehindAWindowEndsThereOrHitsNothing) {
    const cairn::Run all = allocate(RunHeap::longest_run);
    ASSERT_NE(all.first, nullptr);
    char *const end = memory(all) + span_of(all.first);
    EXPECT_EQ(address_of(end) % window_size, window_size - slot_size);
    EXPECT_DEATH(*static_cast<volatile char *>(end) = 1, "");
}

TEST_F(RunHeapTest, RandomRunsAreApartAndCleanOnesReadAsZero) {
    std::map<char *, std::pair<cairn::Run, char>> live;
    std::mt19937_64 random(6);
    for (int step = 0; step < 4000; ++step) {
        if (live.size() < 60 && random() % 2 == 0) {
            const auto slots = static_cast<unsigned>(1 + random() % (random() % 8 == 0 ? 60 : 8));
            const cairn::Run run = allocate(slots, random() % 3 == 0 ? 8 : 1);
            ASSERT_NE(run.first, nullptr);
            const auto mark = static_cast<char>(1 + random() % 127);
            for (std::size_t i = 0; i < span_of(run.first); i += slot_size / 2) {
                if (run.clean) {
                    ASSERT_EQ(memory(run)[i], 0);
                }
                memory(run)[i] = mark;
            }
            ASSERT_TRUE(live.emplace(memory(run), std::pair(run, mark)).second);
        } else if (!live.empty()) {
            const auto one = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
            const auto [run, mark] = one->second;
            for (std::size_t i = 0; i < span_of(run.first); i += slot_size / 2) {
                ASSERT_EQ(memory(run)[i], mark) << "somebody else wrote here";
            }
            runs_.release(run.first);
            live.erase(one);
        }
        if (step % 500 == 499) {
            runs_.purge(0);
        } else if (step % 500 == 250) {
            runs_.repair_after_fork();
        }
    }
}

TEST_F(RunHeapTest, ReleasedMemoryIsUsedAgain) {
    const cairn::Run first = touched(4);
    runs_.release(first.first);
    const cairn::Run second = allocate(4);
    EXPECT_EQ(second.first, first.first);
    EXPECT_FALSE(second.clean);
    EXPECT_EQ(memory(second)[0], 'x');
    runs_.release(second.first, /*clean=*/true);
    EXPECT_EQ(runs_.dirty_bytes(), 0u) << "the caller knows";
}

TEST_F(RunHeapTest, PurgingGivesTheMemoryBackAndKeepsTheAddresses) {
    const cairn::Run run = touched(8 * mebibyte);
    runs_.release(run.first);
    EXPECT_EQ(runs_.dirty_bytes(), 8_MiB);
    EXPECT_EQ(resident(run), 8_MiB);
    const std::size_t mapped = test::address_space();
    EXPECT_EQ(runs_.purge(0), 8_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
    EXPECT_EQ(resident(run), 0u);
    EXPECT_EQ(test::address_space(), mapped);
    const cairn::Run again = allocate(8 * mebibyte);
    EXPECT_EQ(again.first, run.first);
    EXPECT_TRUE(again.clean);
    EXPECT_EQ(memory(again)[4_MiB], 0);
    EXPECT_EQ(runs_.purge(0), 0u);
}

TEST_F(RunHeapTest, PurgingKeepsWhatItIsToldTo) {
    const std::vector<cairn::Run> all = apart(8, mebibyte);
    release(all);
    EXPECT_EQ(runs_.purge(3_MiB), 5_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 3_MiB);
    std::size_t left = 0;
    for (const cairn::Run &run : all) {
        left += resident(run);
    }
    EXPECT_EQ(left, 3_MiB);
    EXPECT_EQ(runs_.purge(3_MiB), 0u);
}

TEST_F(RunHeapTest, ATickPurgesWhatNobodyNeededForAWholePeriod) {
    const std::vector<cairn::Run> all = apart(8, mebibyte);
    release(all);
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.dirty_bytes(), 8_MiB) << "free only since this period";
    std::vector<cairn::Run> busy;
    for (int i = 0; i < 6; ++i) {
        busy.push_back(allocate(mebibyte));
    }
    release(busy);
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.dirty_bytes(), 6_MiB) << "two lay idle";
    runs_.purge_idle(2_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 2_MiB) << "now all six, but two are to be kept";
    runs_.purge_idle(2_MiB);
    EXPECT_EQ(runs_.dirty_bytes(), 2_MiB);
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.dirty_bytes(), 0u);
}

/// What is free and resident is at most a fraction of all, or the slack, when more is taken; else as much goes
/// back as is taken.
TEST_F(RunHeapTest, NewMemoryIsPaidForWithWhatLiesFree) {
    release(apart(64, mebibyte));
    std::size_t before = runs_.dirty_bytes();
    ASSERT_EQ(before, 64_MiB);
    for (int i = 0; i < 100; ++i) {
        const cairn::Run run = allocate(2 * mebibyte); // none of the free ones is so long
        ASSERT_TRUE(run.clean);
        const std::size_t dirty = runs_.dirty_bytes();
        const std::size_t paid = before - dirty;
        const std::size_t allowed = PurgingRuns::beside_blocks.bytes(runs_.resident_bytes() + paid);
        EXPECT_TRUE(dirty <= allowed || dirty + 2_MiB <= before) << dirty << " of " << allowed;
        EXPECT_GE(dirty + 2_MiB + 1_MiB, before) << "no more than was taken, but for the rest of a run";
        before = dirty;
    }
    EXPECT_LE(before, runs_.resident_bytes() / PurgingRuns::beside_blocks.fraction);
    EXPECT_GE(before, PurgingRuns::beside_blocks.slack - 1_MiB);
}

/// Neighbours of both kinds serve together; what of it was clean is growth.
TEST_F(RunHeapTest, AMixedRunIsPaidForByWhatOfItIsNew) {
    release(apart(20, mebibyte));
    const cairn::Run used = allocate(5 * mebibyte);
    runs_.release(used.first);
    ASSERT_EQ(runs_.dirty_bytes(), 20_MiB) << "it has paid for itself";
    const std::size_t before = runs_.line().total();
    const cairn::Run run = allocate(8 * mebibyte);
    EXPECT_EQ(run.first, used.first);
    EXPECT_FALSE(run.clean);
    EXPECT_EQ(runs_.dirty_bytes(), 12_MiB) << "five are in it, three have paid for the other three";
    EXPECT_EQ(runs_.line().total(), before);
}

TEST_F(RunHeapTest, NoMoreIsPaidThanLiesFreeBeyondTheInvariant) {
    release(apart(PurgingRuns::beside_blocks.slack / 1_MiB + 2, mebibyte));
    allocate(10 * mebibyte);
    EXPECT_EQ(runs_.dirty_bytes(), PurgingRuns::beside_blocks.slack);
    allocate(10 * mebibyte);
    EXPECT_EQ(runs_.dirty_bytes(), PurgingRuns::beside_blocks.slack) << "so much may always lie there";
}

/// A superblock pays as it is touched, and for more.
TEST_F(RunHeapTest, WhatIsTouchedLaterIsPaidThen) {
    release(apart(20, mebibyte));
    ASSERT_EQ(runs_.dirty_bytes(), 20_MiB);
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(allocate(2 * mebibyte, 1, RunHeap::Touched::later).clean);
    }
    EXPECT_EQ(runs_.dirty_bytes(), 20_MiB) << "nothing of it is touched";
    EXPECT_EQ(runs_.touch(2_MiB), 2_MiB);
    runs_.pay(PurgingRuns::beside_superblocks);
    EXPECT_EQ(runs_.dirty_bytes(), 18_MiB);
    EXPECT_EQ(runs_.touch(20_MiB), 20_MiB);
    const std::size_t kept = PurgingRuns::beside_superblocks.bytes(runs_.resident_bytes());
    runs_.pay(PurgingRuns::beside_superblocks);
    EXPECT_LE(runs_.dirty_bytes(), kept);
    EXPECT_GE(runs_.dirty_bytes(), kept - 1_MiB);
}

TEST_F(RunHeapTest, WhatComesBackToTheLineIsPaidAlready) {
    release(apart(80, mebibyte));
    const cairn::Run superblock = allocate(8 * mebibyte, 1, RunHeap::Touched::later);
    ASSERT_TRUE(superblock.clean);
    EXPECT_EQ(runs_.touch(8_MiB), 8_MiB);
    runs_.pay(PurgingRuns::beside_superblocks);
    const std::size_t dirty = runs_.dirty_bytes();
    EXPECT_EQ(dirty, 72_MiB);
    for (int i = 0; i < 10; ++i) { // what it has not cut goes back, and is cut again
        runs_.untouch(4_MiB);
        EXPECT_EQ(runs_.touch(4_MiB), 0u);
    }
    EXPECT_EQ(runs_.touch(1_MiB), 0u) << "more than was untouched: there is no such thing";
    EXPECT_EQ(runs_.dirty_bytes(), dirty);
}

TEST_F(RunHeapTest, TheLineFallsWhenMemoryGoesBackByItself) {
    release(apart(40, mebibyte));
    ASSERT_FALSE(runs_.would_grow(0));
    ASSERT_TRUE(runs_.would_grow(slot_size));
    runs_.purge(0);
    EXPECT_TRUE(runs_.would_grow(slot_size)) << "asked for: what there was before is forgotten";
    const std::size_t before = runs_.line().total();
    allocate(mebibyte);
    EXPECT_EQ(runs_.line().total(), before + 1_MiB);
}

TEST_F(RunHeapTest, WhatIsPaidIsNoGrowth) {
    release(apart(40, mebibyte));
    ASSERT_TRUE(allocate(2 * mebibyte).clean); // pays with two of the forty
    ASSERT_EQ(runs_.dirty_bytes(), 38_MiB);
    const std::size_t before = runs_.line().total();
    ASSERT_TRUE(allocate(2 * mebibyte).clean);
    EXPECT_EQ(runs_.dirty_bytes(), 36_MiB);
    EXPECT_EQ(runs_.line().total(), before) << "no more is taken than there was";
}

/// A thread that has mapped a huge block and was about to pay, when the clock ticked.
TEST_F(RunHeapTest, ATickForgivesNothing) {
    release(apart(40, mebibyte));
    {
        sync::Guard hold(runs_.lock());
        runs_.space().grew(4_MiB);
    }
    runs_.purge_idle(64_MiB);
    runs_.pay(PurgingRuns::beside_blocks);
    EXPECT_EQ(runs_.dirty_bytes(), 36_MiB);
}

TEST_F(RunHeapTest, WhatIsUnmappedElsewhereIsNoCredit) {
    {
        sync::Guard hold(runs_.lock());
        runs_.space().grew(100_MiB);
    }
    runs_.pay(PurgingRuns::beside_blocks);
    {
        sync::Guard hold(runs_.lock());
        runs_.space().shrank(100_MiB);
        runs_.unmapped_locked(100_MiB);
    }
    EXPECT_TRUE(runs_.would_grow(slot_size));
}

TEST_F(RunHeapTest, BelowTheFloorMemoryHasNoPrice) {
    release(apart(20, mebibyte));
    EXPECT_FALSE(runs_.line().is_small()) << "by itself there is none";
    runs_.set_floor(runs_.resident_bytes() + 4_MiB);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(allocate(2 * mebibyte, 1, RunHeap::Touched::later).clean);
    }
    EXPECT_FALSE(runs_.would_grow(2_MiB)) << "what is not touched does not count";
    const std::size_t before = runs_.line().total();
    EXPECT_EQ(runs_.touch(3_MiB), 0u);
    EXPECT_TRUE(runs_.line().is_small());
    EXPECT_EQ(runs_.line().total(), before);

    EXPECT_TRUE(runs_.would_grow(2_MiB));
    EXPECT_NE(runs_.touch(2_MiB), 0u);
    runs_.pay(PurgingRuns::beside_superblocks);
    EXPECT_LT(runs_.dirty_bytes(), 20_MiB);

    const cairn::Run much = allocate(24 * mebibyte);
    EXPECT_FALSE(runs_.line().is_small());
    runs_.release(much.first);
    runs_.purge(0);
    EXPECT_TRUE(runs_.line().is_small()) << "it has become so again";
    EXPECT_FALSE(runs_.would_grow(2_MiB));
}

TEST_F(RunHeapTest, AFractionOfMuchMayLieFree) {
    for (int i = 0; i < 40; ++i) {
        allocate(10 * mebibyte);
    }
    release(apart(80, mebibyte));
    allocate(10 * mebibyte);
    EXPECT_EQ(runs_.dirty_bytes(), 80_MiB) << "of nearly 500";
}

TEST_F(RunHeapTest, GrowthCountsWhatHadNoMemoryBehindIt) {
    EXPECT_EQ(runs_.line().total(), 0u);
    const cairn::Run run = touched(mebibyte);
    EXPECT_EQ(runs_.line().total(), 1_MiB);
    runs_.release(run.first);
    allocate(mebibyte);
    EXPECT_EQ(runs_.line().total(), 1_MiB) << "it was there";
    {
        sync::Guard hold(runs_.lock());
        runs_.space().grew(5_MiB); // for a huge block
    }
    runs_.pay(PurgingRuns::beside_blocks);
    EXPECT_EQ(runs_.line().total(), 6_MiB);
    EXPECT_EQ(runs_.resident_bytes(), 1_MiB);
}

TEST_F(RunHeapTest, ARunGrowsAndShrinksInPlace) {
    const cairn::Run run = allocate(4);
    memory(run)[0] = 'a';
    ASSERT_TRUE(runs_.extend(run.first, 8, SlotKind::taken));
    EXPECT_EQ(run.first->slots, 8u);
    EXPECT_EQ(runs_.line().total(), 8 * slot_size);
    memory(run)[8 * slot_size - 1] = 'b';
    const cairn::Run next = allocate(4);
    EXPECT_GE(memory(next), memory(run) + 8 * slot_size);
    runs_.shorten(run.first, 2);
    EXPECT_EQ(runs_.dirty_bytes(), 6 * slot_size);
    EXPECT_EQ(memory(run)[0], 'a');
    EXPECT_EQ(allocate(6).first, run.first + 2);
    EXPECT_FALSE(runs_.extend(run.first, 3, SlotKind::taken));
}

TEST_F(RunHeapTest, TheStatisticsAddUp) {
    const cairn::Run a = touched(mebibyte);
    const cairn::Run b = touched(mebibyte);
    runs_.release(a.first);
    runs_.purge(0);
    runs_.release(b.first);
    Statistics now;
    runs_.statistics(now);
    EXPECT_EQ(now.free_dirty, 1_MiB);
    EXPECT_EQ(now.purged, 1_MiB);
    EXPECT_EQ(now.purges, 1u);
    EXPECT_EQ(now.mapped, now.mapped_peak);
    std::size_t slots = 0;
    runs_.for_each_segment([&](const Segment &segment) {
        slots += segment.mapped_slots;
        EXPECT_EQ(segment.kind(0), SlotKind::metadata);
        EXPECT_EQ(segment.kind(metadata_slots - 1), SlotKind::metadata);
    });
    EXPECT_EQ(now.mapped, slots * slot_size);
    EXPECT_EQ(now.free_clean, (slots - metadata_slots) * slot_size - 1_MiB);
}

TEST_F(RunHeapTest, WhereSpaceIsShortItIsRefusedAndThenGoesOn) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            test::limit_address_space(24_MiB);
            std::vector<cairn::Run> all;
            all.reserve(100);
            for (cairn::Run run = allocate(8); run.first != nullptr; run = allocate(8)) {
                all.push_back(run);
            }
            EXPECT_GE(all.size() * 8 * slot_size, 18_MiB) << "most of it was to be had";
            unsigned segments = 0;
            runs_.for_each_segment([&](const Segment &) { ++segments; });
            EXPECT_LE(segments, 2u) << "the newest one grows first";
            EXPECT_EQ(allocate(100).first, nullptr);
            runs_.release(all[3].first);
            EXPECT_EQ(allocate(8).first, all[3].first);
            // A dirty and two clean neighbours serve together once the dirty one is purged.
            touch(all[4]);
            runs_.release(all[4].first);
            runs_.release(all[5].first, /*clean=*/true);
            runs_.release(all[6].first, /*clean=*/true);
            const cairn::Run three = allocate(24);
            EXPECT_EQ(three.first, std::min(all[4].first, all[6].first));
            EXPECT_TRUE(three.clean);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

/// The only run that is long enough is on its way to the kernel, in another thread: that is a matter of a moment. The
/// test may come a moment too early or too late, and the other thread may have been stopped for longer than anybody
/// waits.
TEST_F(RunHeapTest, WhereSpaceIsShortARunOnItsWayToTheKernelIsWaitedFor) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    constexpr int enough = 10;
    EXPECT_EXIT(
        {
            std::atomic<bool> released{false};
            std::atomic<bool> over{false};
            std::thread purger([&] {
                while (!over) {
                    if (released.exchange(false)) {
                        runs_.purge(0);
                    }
                }
            });
            cairn::Run run = touched(20 * mebibyte);
            test::limit_address_space(1_MiB);
            while (allocate(1).first != nullptr) {
            }
            int served = 0;
            int refused = 0;
            for (int round = 0; round < 2000 && served < enough && refused < enough; ++round) {
                touch(run);
                runs_.release(run.first);
                released = true;
                Statistics now;
                do {
                    now = {};
                    runs_.statistics(now);
                } while (now.free_dirty != 0);
                const bool on_its_way = now.free_clean == 0;
                run = allocate(20 * mebibyte);
                if (on_its_way) {
                    ++(run.first != nullptr ? served : refused);
                }
                while (run.first == nullptr) {
                    run = allocate(20 * mebibyte);
                }
            }
            over = true;
            purger.join();
            EXPECT_LT(refused, enough);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(RunHeapTest, TheListsAreMadeAnewInTheChildOfAFork) {
    std::vector<cairn::Run> all = apart(8, mebibyte);
    runs_.release(all.back().first);
    all.pop_back();
    std::thread([this] { runs_.lock().lock(); }).join(); // by a thread that is not there any more
    runs_.repair_after_fork();
    EXPECT_EQ(runs_.dirty_bytes(), 1_MiB);
    release(all);
    EXPECT_EQ(runs_.dirty_bytes(), 8_MiB);
    EXPECT_EQ(runs_.purge(0), 8_MiB);
}

TEST_F(RunHeapTest, ATickForgetsWhatWasBeforeTheLastOneAndAPurgeAll) {
    runs_.release(touched(8 * mebibyte).first);
    runs_.purge_idle(0); // it lay free for less than a tick
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.dirty_bytes(), 0U);
    EXPECT_FALSE(runs_.would_grow(8_MiB)); // seen since the last tick
    const cairn::Run below = allocate(2 * mebibyte, 1, RunHeap::Touched::later);
    EXPECT_EQ(runs_.touch(2_MiB), 0U);
    runs_.release(below.first, /*clean=*/true);
    runs_.purge_idle(0);
    EXPECT_EQ(runs_.line().touched_above(2_MiB), 0U);
    EXPECT_FALSE(runs_.would_grow(2_MiB));
    EXPECT_TRUE(runs_.would_grow(2_MiB + slot_size));
    runs_.purge(0);
    EXPECT_TRUE(runs_.would_grow(slot_size));
}

} // namespace
