// SPDX-License-Identifier: MIT
//
// LargeHeap: runs as blocks; a block's kind and size say truly what it is, and it is freed once.
#include "process_memory.hpp"

#include <cairn/core/statistics.hpp>
#include <cairn/run/large_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

using namespace cairn;

namespace {

class LargeHeapTest : public testing::Test {
protected:
    struct Block {
        char *p;
        OwnerLine *line;
        bool clean;
    };

    using Freed = LargeHeap::Freed;

    /// Whether it was a block.
    bool free(OwnerLine *line, unsigned who = SpareRuns::no_heap) {
        return heap_.free(line, who) != Freed::nothing;
    }

    Block malloc(std::size_t size, std::size_t alignment = 1) {
        bool clean = false;
        void *const p = heap_.malloc(size, alignment, clean);
        return {static_cast<char *>(p), p == nullptr ? nullptr : line_of(p), clean};
    }
    static OwnerLine *line_of(const void *p) {
        return &Segment::of(address_of(p))->owner_lines[Segment::slot_of(address_of(p))];
    }
    static SlotKind kind(const char *p) {
        return Segment::of(address_of(p))->kind(Segment::slot_of(address_of(p)));
    }

    void expect_live(std::size_t bytes, std::size_t blocks) {
        Statistics now;
        heap_.statistics(now);
        EXPECT_EQ(now.large_live, bytes);
        EXPECT_EQ(now.large_live_blocks, blocks);
    }

    RunHeap runs_;
    LargeHeap heap_{runs_};
};

TEST_F(LargeHeapTest, ABlockHasItsSizeAndItsSlotsSayWhatTheyAre) {
    for (const std::size_t size : {std::size_t{1}, 4096_KiB - 1, 4096_KiB, 4096_KiB + 1, slot_size - 1,
                                   slot_size, slot_size + 1, LargeHeap::largest, LargeHeap::longest}) {
        const Block block = malloc(size);
        ASSERT_NE(block.p, nullptr) << size;
        EXPECT_TRUE(is_aligned(block.p, platform::cache_line));
        const std::size_t before = address_of(block.p) % slot_size;
        EXPECT_LE(before + size, align_up(size, platform::smallest_page)) << "no more pages are touched";
        const std::size_t usable = LargeHeap::size_of(block.line);
        EXPECT_GE(usable, size);
        EXPECT_LT(usable, size + platform::smallest_page);
        EXPECT_EQ(block.line->slots, ceil_div(size, slot_size));
        EXPECT_EQ(kind(block.p), SlotKind::large);
        for (std::size_t at = slot_size; at < size; at += slot_size) {
            ASSERT_EQ(kind(block.p - before + at), SlotKind::large_tail);
        }
        expect_live(align_up(size, slot_size), 1);
        block.p[0] = block.p[usable - 1] = 1;
        EXPECT_TRUE(free(block.line));
        EXPECT_NE(kind(block.p), SlotKind::large);
        expect_live(0, 0);
    }
}

/// Else they would share a few sets of a cache.
TEST_F(LargeHeapTest, BlocksOfOneSizeBeginAtDifferentLines) {
    for (const std::size_t size : {std::size_t{70000}, std::size_t{160000}, 1_MiB - 4000}) {
        const std::size_t lines = (align_up(size, platform::smallest_page) - size) / platform::cache_line + 1;
        std::set<std::uintptr_t> begun;
        for (std::size_t i = 0; i < 20; ++i) {
            begun.insert(address_of(malloc(size).p) % slot_size);
            EXPECT_EQ(address_of(malloc(size, 128).p) % slot_size, 0u) << "it has to be aligned";
        }
        EXPECT_GE(begun.size(), std::min<std::size_t>(lines, 20) / 2) << size;
    }
}

TEST_F(LargeHeapTest, WhoFreesAShortBlockGetsItBack) {
    bool clean = false;
    const auto malloc = [&](std::size_t size, unsigned who, std::size_t alignment = 1) {
        void *const spare = heap_.malloc_spare(size, alignment, who);
        return static_cast<char *>(spare != nullptr ? spare : heap_.malloc(size, alignment, clean, who));
    };
    char *const p = malloc(100000, 1);
    std::memset(p, 1, 100000);
    EXPECT_EQ(heap_.free(line_of(p), 1), Freed::kept);
    expect_live(0, 0);
    EXPECT_EQ(runs_.dirty_bytes(), 0u) << "it is kept";
    Statistics now;
    heap_.statistics(now);
    EXPECT_EQ(now.free_dirty, 2 * slot_size) << "and free";
    EXPECT_FALSE(free(line_of(p), 1)) << "no more";
    EXPECT_EQ(kind(p), SlotKind::large) << "the kinds are let alone";
    EXPECT_EQ(kind(p + slot_size), SlotKind::large_tail);

    EXPECT_NE(line_of(malloc(100000, 2)), line_of(p)) << "somebody else";
    EXPECT_NE(line_of(malloc(200000, 1)), line_of(p)) << "longer";
    EXPECT_NE(line_of(malloc(100000, 1, 2 * slot_size)), line_of(p)) << "who knows how it lies";
    EXPECT_NE(line_of(malloc(100000, SpareRuns::no_heap)), line_of(p));
    expect_live(2 * 3 * slot_size + 4 * slot_size, 4);
    char *const again = malloc(70000, 1);
    ASSERT_EQ(line_of(again), line_of(p)) << "as many slots";
    EXPECT_EQ(address_of(again + LargeHeap::size_of(line_of(p))) % slot_size,
              align_up(70000, platform::smallest_page) % slot_size);
    EXPECT_EQ(kind(p), SlotKind::large);
    EXPECT_EQ(kind(p + slot_size), SlotKind::large_tail);
    EXPECT_NE(line_of(malloc(100000, 1)), line_of(p)) << "once";

    // One lies in a place; what it drives out is free for all, and so is a long one.
    char *const q = malloc(256_KiB, 1);
    char *const r = malloc(256_KiB + 1, 1);
    EXPECT_EQ(heap_.free(line_of(p), 1), Freed::kept);
    EXPECT_EQ(heap_.free(line_of(q), 1), Freed::run);
    EXPECT_EQ(runs_.dirty_bytes(), 2 * slot_size);
    EXPECT_EQ(heap_.free(line_of(r), 1), Freed::run);
    EXPECT_EQ(runs_.dirty_bytes(), 7 * slot_size);
    EXPECT_EQ(heap_.give_up_spares(), 4 * slot_size);
    EXPECT_EQ(runs_.dirty_bytes(), 11 * slot_size);
    EXPECT_EQ(heap_.give_up_spares(), 0u);
    expect_live(2 * 4 * slot_size + 4 * slot_size, 5);
}

/// Elsewhere it is wanted sooner: by a block that grows, or one of another length.
TEST_F(LargeHeapTest, ALongRunWaitsWhereItIsFreedInTurn) {
    constexpr std::size_t size = 5_MiB;
    bool clean = false;
    const auto malloc = [&](unsigned who) {
        void *const spare = heap_.malloc_spare(size, 16, who);
        return line_of(spare != nullptr ? spare : heap_.malloc(size, 16, clean, who));
    };
    const auto in_turns = [&](unsigned who) {
        for (unsigned turn = 1; turn < SpareRuns::least_turns; ++turn) {
            EXPECT_EQ(heap_.free(malloc(who), who), Freed::run) << turn;
        }
    };
    in_turns(1);
    OwnerLine *const first = malloc(1);
    EXPECT_EQ(heap_.free(first, 1), Freed::kept_long);
    EXPECT_EQ(heap_.spares(), size);
    EXPECT_EQ(heap_.free(first, 1), Freed::nothing);
    Statistics now;
    heap_.statistics(now);
    EXPECT_EQ(now.free_dirty, size);
    EXPECT_EQ(malloc(1), first);
    EXPECT_EQ(heap_.spares(), size) << "it will be back";
    EXPECT_EQ(heap_.free(first, 1), Freed::kept) << "where its room is";
    EXPECT_EQ(heap_.malloc_used(6_MiB, 16, 1), nullptr) << "for which it is given up";
    EXPECT_EQ(heap_.spares(), 0u);
    EXPECT_FALSE(heap_.give_up_long_spares());
    EXPECT_EQ(malloc(1), first);
    EXPECT_EQ(heap_.free(first, 1), Freed::kept);
    EXPECT_EQ(line_of(heap_.malloc_used(size, 16, 1)), first) << "given up, it fits";
    EXPECT_EQ(heap_.give_up_spares(), 0u);
    EXPECT_EQ(heap_.spares(), 0u) << "room is given up while the block is live";
    EXPECT_EQ(heap_.free(first, 1), Freed::kept);
    EXPECT_EQ(heap_.spares(), size);
    for (unsigned turn = 4; turn < SpareRuns::turns_a_check; ++turn) {
        EXPECT_EQ(malloc(1), first);
        EXPECT_EQ(heap_.free(first, 1), Freed::kept) << turn;
    }
    EXPECT_EQ(malloc(1), first);
    EXPECT_EQ(heap_.free(first, 1), Freed::kept_long);

    for (const unsigned who : {2u, 3u}) {
        in_turns(who);
        EXPECT_EQ(heap_.free(malloc(who), who), Freed::kept_long);
    }
    EXPECT_EQ(heap_.spares(), 3 * size);
    in_turns(4);
    EXPECT_EQ(heap_.free(malloc(4), 4), Freed::run) << "all of them have 16 MiB";
    EXPECT_EQ(heap_.spares(), 3 * size);
    EXPECT_EQ(heap_.give_up_spares(), 3 * size);
    EXPECT_EQ(malloc(1), first);

    OwnerLine *const second = malloc(1);
    EXPECT_EQ(heap_.free(first, 1), Freed::run) << "there is a later one";
    EXPECT_EQ(heap_.free(second, 1), Freed::run) << "and then it is the first in turn";
    EXPECT_EQ(heap_.spares(), 0u);
    expect_live(0, 0);

    EXPECT_EQ(heap_.free(malloc(1), 1), Freed::run) << "the second";
    EXPECT_EQ(heap_.free(malloc(1), 1), Freed::kept_long);
    heap_.repair_after_fork();
    runs_.repair_after_fork();
    EXPECT_EQ(heap_.spares(), 0u);
    EXPECT_EQ(heap_.give_up_spares(), 0u);
}

/// The length is told beside the address, in the bits that an address of a line leaves.
TEST_F(LargeHeapTest, TheLongestRunThatWaitsIsAsLongAsItsPlaceCanTell) {
    bool clean = false;
    for (const unsigned slots : {SpareRuns::most_slots, SpareRuns::most_slots + 1}) {
        const std::size_t size = slots * slot_size;
        for (unsigned turn = 1; turn < SpareRuns::least_turns; ++turn) {
            EXPECT_EQ(heap_.free(line_of(heap_.malloc(size, 1, clean, 1)), 1), Freed::run) << turn;
        }
        OwnerLine *const run = line_of(heap_.malloc(size, 1, clean, 1));
        const bool waits = slots == SpareRuns::most_slots;
        EXPECT_EQ(heap_.free(run, 1), waits ? Freed::kept_long : Freed::run) << slots;
        EXPECT_EQ(heap_.spares(), waits ? size : 0u);
        EXPECT_EQ(heap_.give_up_spares(), waits ? size : 0u);
    }
    expect_live(0, 0);
}

/// Whoever frees a long block out of turn is no more one who frees in turn: what waits for that is free for all, and
/// its room.
TEST_F(LargeHeapTest, ALongRunDoesNotWaitBesideOthers) {
    bool clean = false;
    OwnerLine *const other = line_of(heap_.malloc(1_MiB, 1, clean, 1));
    OwnerLine *const run = line_of(heap_.malloc(5_MiB, 1, clean, 1));
    for (unsigned turn = 1; turn < SpareRuns::least_turns; ++turn) {
        EXPECT_EQ(heap_.free(run, 1), Freed::run) << turn;
        ASSERT_EQ(line_of(heap_.malloc(5_MiB, 1, clean, 1)), run);
    }
    EXPECT_EQ(heap_.free(run, 1), Freed::kept_long);
    EXPECT_EQ(heap_.free(other, 1), Freed::run);
    EXPECT_EQ(heap_.spares(), 0u);
    EXPECT_EQ(runs_.dirty_bytes(), 6_MiB);
    expect_live(0, 0);
}

TEST_F(LargeHeapTest, ThreadsWithHomesOfTheirOwnDoNotMeet) {
    bool clean = false;
    const auto stripe = [&](unsigned who) {
        return Segment::of(address_of(heap_.malloc(1_MiB, 1, clean, who)))->stripe;
    };
    EXPECT_EQ(stripe(SpareRuns::no_heap), 0u);
    for (const unsigned who : {1u, 2u, 3u, 2u, 1u}) {
        EXPECT_EQ(stripe(who), RunHeap::home_of(who));
    }
}

/// The fork came while another thread freed a block: some of its slots are free ones already.
TEST_F(LargeHeapTest, ABlockThatWasJustFreedIsFreeInTheChildOfAFork) {
    const Block block = malloc(1_MiB);
    EXPECT_TRUE(free(block.line, 1));
    Segment *const segment = Segment::of(block.line);
    const unsigned slot = segment->slot_of(block.line);
    segment->set_kinds(slot, 1, SlotKind::large);
    segment->set_kinds(slot + 1, 7, SlotKind::large_tail);
    block.line->slots = 16;
    runs_.repair_after_fork();
    EXPECT_EQ(runs_.dirty_bytes(), 1_MiB);
}

/// In the child of a fork nobody has the places any more, and all slots of what lay there are found free.
TEST_F(LargeHeapTest, ASpareRunIsFreeInTheChildOfAFork) {
    bool clean = false;
    void *const p = heap_.malloc(256_KiB, 1, clean, 1);
    EXPECT_TRUE(free(line_of(p), 1));
    void *const live = heap_.malloc(192_KiB, 1, clean, 2);
    heap_.repair_after_fork();
    runs_.repair_after_fork();
    Statistics now;
    heap_.statistics(now);
    EXPECT_EQ(now.large_live_blocks, 1u);
    EXPECT_EQ(now.large_live, 192_KiB);
    EXPECT_EQ(now.free_dirty, 0u) << "runs count it";
    EXPECT_TRUE(free(line_of(live)));
    EXPECT_EQ(runs_.dirty_bytes(), 448_KiB);
    EXPECT_EQ(heap_.give_up_spares(), 0u);
}

TEST_F(LargeHeapTest, WhatABlockNeedsNoMoreGoesBack) {
    const Block block = malloc(256_KiB);
    std::memset(block.p, 'x', 256_KiB);
    ASSERT_EQ(test::resident(block.p, 256_KiB), 256_KiB);
    ASSERT_TRUE(heap_.resize_in_place(block.line, 130_KiB)); // of three slots
    EXPECT_EQ(test::resident(block.p, 192_KiB), align_up(130_KiB, platform::vm::page_size()));
    ASSERT_TRUE(heap_.resize_in_place(block.line, 192_KiB));
    EXPECT_EQ(static_cast<char *>(block.p)[130_KiB - 1], 'x');
    EXPECT_EQ(static_cast<char *>(block.p)[192_KiB - 1], 0);
    EXPECT_TRUE(free(block.line));
}

TEST_F(LargeHeapTest, AlignmentUpToTheLargest) {
    for (std::size_t alignment = 1; alignment <= LargeHeap::largest_alignment; alignment *= 2) {
        for (const std::size_t size : {std::size_t{100}, 200_KiB, LargeHeap::largest}) {
            const Block block = malloc(size, alignment);
            ASSERT_NE(block.p, nullptr) << size << " at " << alignment;
            EXPECT_TRUE(is_aligned(block.p, alignment));
            EXPECT_TRUE(free(block.line));
        }
    }
}

/// Where address space is short, such blocks come here instead of to a mapping of their own.
TEST_F(LargeHeapTest, ALongBlockOfCoarseAlignmentFitsAWindowOrIsRefused) {
    for (std::size_t alignment = slot_size; alignment <= LargeHeap::largest_alignment; alignment *= 2) {
        const std::size_t start = align_up(metadata_slots * slot_size, alignment);
        const std::size_t most = end_of_slots * slot_size - start; // at the first place of a window
        const Block block = malloc(most, alignment);
        ASSERT_NE(block.p, nullptr) << alignment;
        EXPECT_EQ(address_of(block.p) % window_size, start);
        free(block.line);
        for (const std::size_t more : {most + 1, LargeHeap::longest}) {
            if (more > most && more <= LargeHeap::longest) {
                const std::size_t mapped = runs_.space().mapped();
                EXPECT_EQ(malloc(more, alignment).p, nullptr) << alignment << ", " << more;
                EXPECT_EQ(runs_.space().mapped(), mapped) << "no window would help";
            }
        }
    }
    runs_.for_each_segment([](const Segment &segment) { EXPECT_LE(segment.mapped_slots, end_of_slots); });
}

TEST_F(LargeHeapTest, CleanMemoryIsZeroAndUsedMemoryIsNotCalledSo) {
    const Block first = malloc(1_MiB);
    EXPECT_TRUE(first.clean);
    EXPECT_TRUE(std::all_of(first.p, first.p + 1_MiB, [](char c) { return c == 0; }));
    std::memset(first.p, 'x', 1_MiB);
    free(first.line);
    const Block second = malloc(1_MiB);
    EXPECT_EQ(second.p, first.p) << "memory that is there costs no fault";
    EXPECT_FALSE(second.clean);
    free(second.line);
    runs_.purge(0);
    const Block third = malloc(1_MiB);
    EXPECT_TRUE(third.clean);
    EXPECT_EQ(third.p[1000], 0);
}

TEST_F(LargeHeapTest, ABlockInUsedMemoryIsThereOnlyIfOneFits) {
    EXPECT_EQ(heap_.malloc_used(300_KiB, 1), nullptr) << "there is none";
    const Block block = malloc(300_KiB);
    EXPECT_EQ(heap_.malloc_used(300_KiB, 1), nullptr);
    free(block.line);
    EXPECT_EQ(heap_.malloc_used(321_KiB, 1), nullptr) << "a slot more";
    EXPECT_EQ(heap_.malloc_used(300_KiB, 1_MiB), nullptr) << "not at such a place";
    const void *const again = heap_.malloc_used(320_KiB, 1);
    EXPECT_EQ(line_of(again), block.line);
    EXPECT_EQ(LargeHeap::size_of(block.line), 320_KiB);
    expect_live(320_KiB, 1);
}

TEST_F(LargeHeapTest, ABlockIsFreedOnce) {
    const Block block = malloc(300_KiB);
    EXPECT_TRUE(free(block.line));
    EXPECT_FALSE(free(block.line));
    expect_live(0, 0);
    EXPECT_EQ(runs_.dirty_bytes(), 320_KiB);
}

TEST_F(LargeHeapTest, ABlockIsFreedOnceByThreadsAtOneTime) {
    for (int round = 0; round < 200; ++round) {
        const Block block = malloc(100_KiB);
        std::atomic<int> ready{0};
        std::atomic<int> freed{0};
        const auto work = [&] {
            ++ready;
            while (ready != 2) {
                platform::cpu_relax();
            }
            freed += free(block.line);
        };
        std::thread other(work);
        work();
        other.join();
        ASSERT_EQ(freed, 1);
    }
    expect_live(0, 0);
}

TEST_F(LargeHeapTest, GrowsInPlaceWhereNothingIsBehindIt) {
    const Block block = malloc(100_KiB);
    std::memset(block.p, 'x', 100_KiB);
    EXPECT_TRUE(heap_.resize_in_place(block.line, 1_MiB));
    EXPECT_EQ(LargeHeap::size_of(block.line), 1_MiB);
    EXPECT_EQ(kind(block.p + 1_MiB - 1), SlotKind::large_tail);
    EXPECT_EQ(block.p[100_KiB - 1], 'x');
    std::memset(block.p, 'y', 1_MiB);
    expect_live(1_MiB, 1);

    const Block behind = malloc(100_KiB);
    ASSERT_EQ(behind.p, block.p + 1_MiB);
    EXPECT_TRUE(heap_.resize_in_place(block.line, 1_MiB)) << "the same is no growth";
    EXPECT_FALSE(heap_.resize_in_place(block.line, 1_MiB + 1));
    EXPECT_FALSE(heap_.resize_in_place(block.line, LargeHeap::largest + 1));
    EXPECT_EQ(LargeHeap::size_of(block.line), 1_MiB) << "nothing has changed";
    expect_live(1_MiB + 128_KiB, 2);
    free(behind.line);
    EXPECT_TRUE(heap_.resize_in_place(block.line, 1_MiB + 1));
}

TEST_F(LargeHeapTest, NoBlockGrowsBeyondTheLargest) {
    const Block block = malloc(1_MiB);
    EXPECT_FALSE(heap_.resize_in_place(block.line, LargeHeap::largest + 1)) << "though nothing is behind it";
    EXPECT_TRUE(heap_.resize_in_place(block.line, LargeHeap::largest));
}

TEST_F(LargeHeapTest, ShrinkingGivesTheEndBack) {
    const Block block = malloc(1_MiB);
    std::memset(block.p, 'x', 1_MiB);
    EXPECT_TRUE(heap_.resize_in_place(block.line, 200_KiB));
    EXPECT_EQ(LargeHeap::size_of(block.line), 200_KiB);
    EXPECT_EQ(runs_.dirty_bytes(), 1_MiB - 256_KiB);
    EXPECT_EQ(kind(block.p + 256_KiB), SlotKind::free_dirty);
    expect_live(256_KiB, 1);
    EXPECT_EQ(malloc(768_KiB).p, block.p + 256_KiB);
    EXPECT_EQ(block.p[200_KiB - 1], 'x');
}

TEST_F(LargeHeapTest, RandomOperationsAgreeWithTheModel) {
    struct Live {
        std::size_t size;
        char mark;
    };
    std::map<char *, Live> live;
    std::size_t bytes = 0;
    std::mt19937_64 random(7);
    const auto random_size = [&] { return 1 + random() % (random() % 8 == 0 ? 4_MiB : 400_KiB); };
    const auto ends_are = [](char *p, const Live &block) {
        return p[0] == block.mark && p[block.size / 2] == block.mark && p[block.size - 1] == block.mark;
    };
    const auto mark = [](char *p, const Live &block) {
        p[0] = p[block.size / 2] = p[block.size - 1] = block.mark;
    };
    for (int step = 0; step < 5000; ++step) {
        if (live.size() < 50 && random() % 2 == 0) {
            const Live block{random_size(), static_cast<char>(random())};
            const std::size_t alignment = random() % 4 == 0 ? slot_size << random() % 4 : 1;
            const Block got = malloc(block.size, alignment);
            ASSERT_NE(got.p, nullptr);
            ASSERT_TRUE(is_aligned(got.p, alignment));
            mark(got.p, block);
            ASSERT_TRUE(live.emplace(got.p, block).second);
            bytes += align_up(block.size, slot_size);
        } else if (!live.empty()) {
            const auto one = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
            auto &[p, block] = *one;
            ASSERT_TRUE(ends_are(p, block)) << "somebody else wrote here";
            if (random() % 2 == 0) {
                const std::size_t size = random_size();
                if (heap_.resize_in_place(line_of(p), size)) {
                    const std::size_t before = address_of(p) % slot_size;
                    bytes += align_up(before + size, slot_size) - align_up(before + block.size, slot_size);
                    EXPECT_EQ(p[0], block.mark);
                    block.size = size;
                    mark(p, block);
                }
                const std::size_t before = address_of(p) % slot_size;
                ASSERT_EQ(before + LargeHeap::size_of(line_of(p)),
                          align_up(before + block.size, platform::smallest_page));
            } else {
                ASSERT_TRUE(free(line_of(p)));
                bytes -= align_up(address_of(p) % slot_size + block.size, slot_size);
                live.erase(one);
            }
        }
        expect_live(bytes, live.size());
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
