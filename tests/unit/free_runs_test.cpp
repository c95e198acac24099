// SPDX-License-Identifier: MIT
//
// FreeRuns: every slot in exactly one run, no two free neighbours of a kind, best fit in each kind.
#include "window.hpp"

#include <cairn/run/free_runs.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>

using namespace cairn;

namespace {

constexpr unsigned mapped = 200;

class FreeRunsTest : public testing::Test {
protected:
    FreeRunsTest() : segment_(window_.segment()) { expected_.fill(SlotKind::taken); }

    /// Frees [slot, slot + slots), which were taken.
    void put(unsigned slot, unsigned slots, bool clean) {
        runs_.put(window_.run(slot, slots), clean);
        mark(slot, slots, clean ? SlotKind::free_clean : SlotKind::free_dirty);
    }

    /// The slot that was taken; 0: none.
    static cairn::Run take_from(FreeRuns &runs, unsigned slots, unsigned alignment) {
        const cairn::Run dirty = runs.take(slots, alignment, SlotKind::free_dirty);
        return dirty.first != nullptr ? dirty : runs.take(slots, alignment, SlotKind::free_clean);
    }
    unsigned take(unsigned slots, unsigned alignment = 1) {
        const cairn::Run run = take_from(runs_, slots, alignment);
        if (run.first == nullptr) {
            return 0;
        }
        EXPECT_EQ(run.first->slots, slots);
        const unsigned slot = segment_.slot_of(run.first);
        for (unsigned i = slot; i < slot + slots; ++i) {
            EXPECT_EQ(expected_[i], run.clean ? SlotKind::free_clean : SlotKind::free_dirty)
                << "was not free";
        }
        mark(slot, slots, SlotKind::taken);
        return slot;
    }

    unsigned take_mixed(unsigned slots, unsigned alignment = 1) {
        const unsigned most = most_dirty(slots, alignment);
        const cairn::Run run = runs_.take_mixed(slots, alignment);
        if (run.first == nullptr) {
            EXPECT_TRUE(2 * most < slots || dirty_runs() > 8);
            return 0;
        }
        EXPECT_EQ(run.first->slots, slots);
        EXPECT_FALSE(run.clean);
        EXPECT_TRUE(run.grown);
        const unsigned slot = segment_.slot_of(run.first);
        EXPECT_TRUE(is_aligned(slot, alignment));
        const unsigned dirty = free_in(slot, slots);
        EXPECT_GE(2 * dirty, slots);
        EXPECT_TRUE(dirty == most || dirty_runs() > 8) << dirty << " of " << most;
        mark(slot, slots, SlotKind::taken);
        return slot;
    }

    /// The dirty slots of a piece; 0 if not all of it is free.
    unsigned free_in(unsigned slot, unsigned slots) {
        unsigned dirty = 0;
        for (unsigned i = slot; i < slot + slots; ++i) {
            if (i >= mapped || expected_[i] == SlotKind::taken) {
                return 0;
            }
            dirty += expected_[i] == SlotKind::free_dirty;
        }
        return dirty;
    }
    unsigned most_dirty(unsigned slots, unsigned alignment) {
        unsigned most = 0;
        for (unsigned slot = metadata_slots; slot < mapped; ++slot) {
            most = is_aligned(slot, alignment) ? std::max(most, free_in(slot, slots)) : most;
        }
        return most;
    }
    unsigned dirty_runs() {
        unsigned count = 0;
        for (unsigned slot = metadata_slots; slot < mapped; ++slot) {
            count += expected_[slot] == SlotKind::free_dirty && expected_[slot - 1] != SlotKind::free_dirty;
        }
        return count;
    }

    void mark(unsigned slot, unsigned slots, SlotKind kind) {
        std::fill_n(expected_.begin() + slot, slots, kind);
    }

    /// As in the child of a fork, where what is not free is in use.
    void make_anew() {
        const auto set_taken = [this](SlotKind kind) {
            for (unsigned slot = metadata_slots; slot < mapped; ++slot) {
                if (expected_[slot] == SlotKind::taken) {
                    segment_.set_kinds(slot, 1, kind);
                }
            }
        };
        set_taken(SlotKind::large_tail);
        runs_.clear();
        EXPECT_EQ(runs_.dirty_bytes() + runs_.clean_bytes(), 0u);
        runs_.find_in(segment_);
        set_taken(SlotKind::taken);
    }

    /// What the segment says, against what should be.
    void expect_sound() {
        std::map<SlotKind, std::size_t> slots;
        for (unsigned slot = metadata_slots, end = 0; slot < mapped; slot = end) {
            for (end = slot; end < mapped && expected_[end] == expected_[slot]; ++end) {
                ASSERT_EQ(segment_.kind(end), expected_[end]) << "slot " << end;
            }
            if (expected_[slot] != SlotKind::taken) {
                ASSERT_EQ(segment_.owner_lines[slot].slots, end - slot)
                    << "neighbours at " << slot << " not joined";
                ASSERT_EQ(segment_.owner_lines[end - 1].slots, end - slot) << "no boundary tag";
                slots[expected_[slot]] += end - slot;
            }
        }
        ASSERT_EQ(runs_.clean_bytes(), slots[SlotKind::free_clean] * slot_size);
        ASSERT_EQ(runs_.dirty_bytes(), slots[SlotKind::free_dirty] * slot_size);
    }

    /// The length of the shortest free run of the kind that has the piece; 0: none.
    unsigned shortest(SlotKind kind, unsigned slots, unsigned alignment) const {
        unsigned best = 0;
        for (unsigned slot = metadata_slots, end = 0; slot < mapped; slot = end) {
            for (end = slot; end < mapped && expected_[end] == expected_[slot]; ++end) {
            }
            if (expected_[slot] == kind && align_up(slot, alignment) + slots <= end &&
                (best == 0 || end - slot < best)) {
                best = end - slot;
            }
        }
        return best;
    }

    /// The length of the longest free run of the kind.
    unsigned longest(SlotKind kind) const {
        unsigned slots = 1;
        while (shortest(kind, slots, 1) != 0) {
            ++slots;
        }
        return slots - 1;
    }

    /// For each slot the length of the run that it is in.
    std::array<unsigned, mapped> segment_lengths() const {
        std::array<unsigned, mapped> lengths{};
        for (unsigned slot = metadata_slots, end = 0; slot < mapped; slot = end) {
            for (end = slot; end < mapped && expected_[end] == expected_[slot]; ++end) {
            }
            std::fill(lengths.begin() + slot, lengths.begin() + end, end - slot);
        }
        return lengths;
    }

    test::Window window_{mapped};
    Segment &segment_;
    FreeRuns runs_;
    std::array<SlotKind, mapped> expected_;
};

TEST_F(FreeRunsTest, NeighboursOfAKindAreJoined) {
    for (const bool clean : {false, true}) {
        put(10, 5, clean);
        put(20, 5, clean);
        expect_sound();
        put(15, 5, clean); // both sides
        expect_sound();
        put(25, 3, clean); // in front
        put(8, 2, clean);  // behind
        expect_sound();
        EXPECT_EQ(take(20), 8u);
        expect_sound();
    }
}

TEST_F(FreeRunsTest, DirtyAndCleanStayApart) {
    put(10, 5, false);
    put(15, 5, true);
    put(20, 5, false);
    expect_sound();
    EXPECT_EQ(take(6), 0u);
    EXPECT_EQ(runs_.dirty_bytes(), 10 * slot_size);
}

TEST_F(FreeRunsTest, TheBordersOfTheSegmentAreNotCrossed) {
    put(metadata_slots, 3, true);
    put(mapped - 3, 3, true);
    expect_sound();
    EXPECT_EQ(segment_.kind(metadata_slots - 1), SlotKind::metadata);
    EXPECT_EQ(segment_.kind(mapped), SlotKind::unmapped);
    EXPECT_EQ(take(4), 0u);
}

TEST(FreeRuns, NothingIsReadBehindTheLastSlot) {
    const test::Window window;
    Segment &segment = window.segment();
    // What lies behind the kinds and the lines looks like a free run.
    std::memset(&segment.next, static_cast<int>(SlotKind::free_dirty), sizeof segment.next);
    reinterpret_cast<OwnerLine *>(&segment.shared_lines[0])->slots = 7;
    FreeRuns runs;
    runs.put(window.run(slots_per_segment - 3, 3), false);
    EXPECT_EQ(segment.owner_lines[slots_per_segment - 3].slots, 3u);
    EXPECT_EQ(runs.dirty_bytes(), 3 * slot_size);
    const cairn::Run run = runs.take(3, 1, SlotKind::free_dirty);
    ASSERT_EQ(run.first, &segment.owner_lines[slots_per_segment - 3]);
    EXPECT_EQ(runs.extend(run.first, 4, SlotKind::taken), SlotKind::unmapped);
    EXPECT_EQ(run.first->slots, 3u);
}

TEST_F(FreeRunsTest, EachKindServesItsOwnAndTheRestStaysFree) {
    put(10, 4, true);
    put(40, 50, false);
    EXPECT_EQ(take(4), 40u);
    expect_sound();
    EXPECT_EQ(take(8, 16), 48u);
    expect_sound(); // 44 to 47 and 56 to 89 are left
    EXPECT_EQ(take(40), 0u);
    EXPECT_EQ(take(34), 56u);
    EXPECT_EQ(take(4), 44u);
    EXPECT_EQ(take(4), 10u);
    EXPECT_EQ(take(1), 0u);
    expect_sound();
}

TEST_F(FreeRunsTest, ARunGrowsOnlyIntoFreeSlotsBehindIt) {
    put(20, 5, true);
    put(25, 5, false);
    OwnerLine *const run = window_.run(18, 2);
    EXPECT_EQ(runs_.extend(run, 8, SlotKind::large_tail), SlotKind::unmapped) << "only five of a kind";
    expect_sound();
    EXPECT_NE(runs_.extend(run, 5, SlotKind::large_tail), SlotKind::unmapped);
    EXPECT_EQ(run->slots, 5u);
    EXPECT_EQ(segment_.kind(20), SlotKind::large_tail);
    EXPECT_EQ(segment_.kind(22), SlotKind::large_tail);
    segment_.set_kinds(20, 3, SlotKind::taken);
    mark(20, 3, SlotKind::taken);
    expect_sound();
    EXPECT_EQ(runs_.extend(run, 7, SlotKind::taken), SlotKind::free_clean);
    mark(23, 2, SlotKind::taken);
    EXPECT_EQ(runs_.extend(run, 12, SlotKind::taken), SlotKind::free_dirty);
    mark(25, 5, SlotKind::taken);
    expect_sound();
    EXPECT_EQ(runs_.extend(run, 13, SlotKind::taken), SlotKind::unmapped) << "slot 30 is in use";
    EXPECT_EQ(runs_.extend(window_.run(mapped - 1, 1), 2, SlotKind::taken), SlotKind::unmapped)
        << "not mapped";
    expect_sound();
}

TEST_F(FreeRunsTest, AShortenedRunFreesItsEnd) {
    put(30, 5, false);
    OwnerLine *const run = window_.run(20, 10);
    runs_.shorten(run, 3);
    EXPECT_EQ(run->slots, 3u);
    mark(23, 7, SlotKind::free_dirty);
    expect_sound();
}

TEST_F(FreeRunsTest, TheLongestDirtyRunIsTakenForPurging) {
    put(10, 5, false);
    put(20, 7, false);
    put(40, 50, true);
    OwnerLine *const run = runs_.take_longest_dirty(7);
    ASSERT_EQ(run, &segment_.owner_lines[20]);
    mark(20, 7, SlotKind::taken);
    expect_sound();
    put(20, 7, true);
    expect_sound();
    EXPECT_EQ(runs_.take_longest_dirty(1000), &segment_.owner_lines[10]);
    EXPECT_EQ(runs_.take_longest_dirty(1000), nullptr);
}

TEST_F(FreeRunsTest, NoMoreIsTakenForPurgingThanIsAsked) {
    put(20, 10, false);
    OwnerLine *run = runs_.take_longest_dirty(3);
    ASSERT_EQ(run, &segment_.owner_lines[27]) << "the end";
    EXPECT_EQ(run->slots, 3u);
    mark(27, 3, SlotKind::taken);
    expect_sound();
    put(27, 3, true);

    run = runs_.take_longest_dirty(2);
    ASSERT_EQ(run, &segment_.owner_lines[25]) << "beside the clean one";
    mark(25, 2, SlotKind::taken);
    put(25, 2, true);
    expect_sound();
    ASSERT_EQ(take(5), 20u);

    put(20, 5, false);
    put(15, 5, true);
    ASSERT_EQ(take(5), 20u);
    put(20, 5, false);
    run = runs_.take_longest_dirty(2);
    EXPECT_EQ(run, &segment_.owner_lines[20]) << "beside the one before";
    mark(20, 2, SlotKind::taken);
    expect_sound();
}

TEST_F(FreeRunsTest, AMixedPieceHasAsManyDirtySlotsAsCanBe) {
    put(10, 10, true);
    put(20, 6, false);
    put(26, 10, true);
    put(36, 1, false);
    EXPECT_EQ(take_mixed(12), 14u);
    expect_sound();
    EXPECT_EQ(runs_.dirty_bytes(), slot_size);
    EXPECT_EQ(runs_.clean_bytes(), 14 * slot_size);
}

TEST_F(FreeRunsTest, AMixedPieceIsAtLeastHalfDirty) {
    put(20, 3, false);
    put(23, 10, true);
    EXPECT_EQ(take_mixed(7), 0u);
    expect_sound();
    EXPECT_EQ(take_mixed(6), 20u);
    expect_sound();
    EXPECT_EQ(take_mixed(1), 0u) << "nothing dirty is left";
}

TEST_F(FreeRunsTest, AMixedPieceIsAligned) {
    put(20, 5, false);
    put(25, 10, true);
    EXPECT_EQ(take_mixed(8, 16), 0u) << "32 to 40 is not free";
    EXPECT_EQ(take_mixed(8, 8), 0u) << "24 has one dirty slot, 32 none";
    EXPECT_EQ(take_mixed(8, 2), 20u);
    expect_sound();
}

TEST_F(FreeRunsTest, AMixedPieceEndsWhereTheSegmentDoes) {
    put(mapped - 6, 3, true);
    put(mapped - 3, 3, false);
    put(metadata_slots, 3, false);
    put(metadata_slots + 3, 3, true);
    EXPECT_EQ(take_mixed(7), 0u);
    EXPECT_NE(take_mixed(6), 0u);
    EXPECT_NE(take_mixed(6), 0u);
    expect_sound();
    EXPECT_EQ(runs_.dirty_bytes() + runs_.clean_bytes(), 0u);
}

TEST_F(FreeRunsTest, TheLowWaterMarkIsTheLeastOfAPeriod) {
    EXPECT_EQ(runs_.exchange_low_water(), 0u);
    put(10, 20, false);
    EXPECT_EQ(runs_.exchange_low_water(), 0u) << "there was none at the start of the period";
    EXPECT_EQ(take(15), 10u);
    put(10, 15, false);
    EXPECT_EQ(runs_.exchange_low_water(), 5 * slot_size);
    put(50, 10, true);
    put(70, 10, false);
    EXPECT_EQ(runs_.exchange_low_water(), 20 * slot_size);
    EXPECT_EQ(runs_.exchange_low_water(), 30 * slot_size);
}

TEST_F(FreeRunsTest, WhatALostThreadHadTakenIsFreeAgain) {
    put(10, 5, false);
    segment_.set_kinds(metadata_slots, mapped - metadata_slots, SlotKind::large_tail);
    segment_.set_kinds(10, 5, SlotKind::free_dirty);
    segment_.set_kinds(15, 3, SlotKind::taken);
    runs_.clear();
    runs_.find_in(segment_);
    EXPECT_EQ(runs_.take(8, 1, SlotKind::free_dirty).first, &segment_.owner_lines[10]);
}

TEST_F(FreeRunsTest, TheListsCanBeMadeAnewFromTheSlots) {
    put(10, 5, false);
    put(15, 5, true);
    put(mapped - 4, 4, true);
    put(30, 1, false);
    for (unsigned slot = metadata_slots; slot < mapped; ++slot) {
        segment_.owner_lines[slot].next = segment_.owner_lines[slot].previous = &segment_.owner_lines[100];
    }
    segment_.owner_lines[10].slots = 3; // in the middle of a change
    make_anew();
    expect_sound();
    EXPECT_EQ(take(5), 10u);
    EXPECT_EQ(take(1), 30u);
    EXPECT_EQ(take(4), mapped - 4);
    EXPECT_EQ(take(5), 15u);
    expect_sound();
}

TEST_F(FreeRunsTest, RandomSequencesAgreeWithTheModel) {
    std::map<unsigned, unsigned> taken; // runs by first slot
    const auto forget = [&](unsigned slot) {
        const unsigned slots = taken.at(slot);
        taken.erase(slot);
        return slots;
    };
    put(metadata_slots, mapped - metadata_slots, true);
    std::mt19937_64 random(5);
    int mixed = 0;
    for (int step = 0; step < 30000; ++step) {
        const auto some = [&] {
            return std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()))->first;
        };
        const auto what = random() % 100;
        if (what < 5 && !taken.empty()) {
            const auto slots = static_cast<unsigned>(2 + random() % 12);
            const unsigned alignment = random() % 3 == 0 ? 1u << random() % 4 : 1;
            if (const unsigned slot = take_mixed(slots, alignment); slot != 0) {
                taken[slot] = slots;
                ++mixed;
            }
        } else if (what < 45 || taken.empty()) {
            const auto slots = static_cast<unsigned>(1 + random() % (random() % 8 == 0 ? 40 : 6));
            const unsigned alignment = random() % 3 == 0 ? 1u << random() % 5 : 1;
            const unsigned dirty = shortest(SlotKind::free_dirty, slots, alignment);
            const unsigned clean = shortest(SlotKind::free_clean, slots, alignment);
            const std::size_t dirty_before = runs_.dirty_bytes();
            const auto lengths = segment_lengths();
            const unsigned slot = take(slots, alignment);
            ASSERT_EQ(slot != 0, dirty + clean != 0);
            if (slot != 0) {
                ASSERT_TRUE(is_aligned(slot, alignment));
                ASSERT_EQ(runs_.dirty_bytes() < dirty_before, dirty != 0) << "dirty first";
                ASSERT_EQ(lengths[slot], dirty != 0 ? dirty : clean) << "best fit";
                taken[slot] = slots;
            }
        } else if (what < 85) {
            const unsigned slot = some();
            put(slot, forget(slot), random() % 3 == 0);
        } else if (what < 90) {
            const unsigned slot = some();
            const unsigned more = 1 + static_cast<unsigned>(random() % 4);
            const unsigned end = slot + taken[slot];
            bool possible = end + more <= mapped && expected_[end] != SlotKind::taken;
            for (unsigned i = end; possible && i < end + more; ++i) {
                possible = expected_[i] == expected_[end];
            }
            ASSERT_EQ(runs_.extend(&segment_.owner_lines[slot], taken[slot] + more, SlotKind::taken) !=
                          SlotKind::unmapped,
                      possible);
            if (possible) {
                mark(end, more, SlotKind::taken);
                taken[slot] += more;
            }
        } else if (what < 95) {
            const unsigned slot = some();
            if (taken[slot] > 1) {
                const unsigned slots = 1 + static_cast<unsigned>(random() % (taken[slot] - 1));
                runs_.shorten(&segment_.owner_lines[slot], slots);
                mark(slot + slots, taken[slot] - slots, SlotKind::free_dirty);
                taken[slot] = slots;
            }
        } else if (what < 98) {
            const auto most = static_cast<unsigned>(1 + random() % 20);
            if (OwnerLine *const run = runs_.take_longest_dirty(most)) {
                ASSERT_EQ(run->slots, std::min(most, longest(SlotKind::free_dirty)));
                const unsigned slot = segment_.slot_of(run);
                mark(slot, run->slots, SlotKind::free_clean);
                runs_.put(run, true);
            } else {
                ASSERT_EQ(longest(SlotKind::free_dirty), 0u);
            }
        } else {
            make_anew();
        }
        expect_sound();
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(mixed, 100);
}

} // namespace
