// SPDX-License-Identifier: MIT
//
// RunLists: the shortest run that holds a request, aligned if asked.
#include "window.hpp"

#include <cairn/run/run_lists.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace cairn;

namespace {

class RunListsTest : public testing::Test {
protected:
    OwnerLine *insert(unsigned slot, unsigned slots) {
        OwnerLine *const run = window_.run(slot, slots);
        lists_.insert(run);
        return run;
    }
    /// The slot of the piece; 0: none.
    unsigned best_fit(unsigned slots, unsigned alignment = 1) {
        whole_ = nullptr;
        const OwnerLine *const piece = lists_.best_fit(slots, alignment, whole_);
        return piece == nullptr ? 0 : window_.segment().slot_of(piece);
    }

    test::Window window_;
    RunLists lists_;
    OwnerLine *whole_ = nullptr;
};

TEST_F(RunListsTest, EmptyListsHaveNothing) {
    EXPECT_EQ(lists_.longest(), nullptr);
    EXPECT_EQ(lists_.bytes(), 0u);
    EXPECT_EQ(best_fit(1), 0u);
    EXPECT_EQ(best_fit(511), 0u);
    EXPECT_EQ(best_fit(512), 0u) << "longer than a segment";
    EXPECT_EQ(best_fit(100000), 0u);
}

TEST_F(RunListsTest, EveryLengthIsFound) {
    for (unsigned length = 1; length <= slots_per_segment - metadata_slots; ++length) {
        OwnerLine *const run = insert(metadata_slots, length);
        EXPECT_EQ(run[length - 1].slots, length) << "the boundary tag";
        EXPECT_EQ(lists_.longest(), run);
        EXPECT_EQ(lists_.bytes(), length * slot_size);
        EXPECT_EQ(best_fit(length), metadata_slots);
        EXPECT_EQ(whole_, run);
        EXPECT_EQ(best_fit(1), metadata_slots);
        EXPECT_EQ(best_fit(length + 1), 0u);
        lists_.remove(run);
        EXPECT_EQ(best_fit(1), 0u);
    }
}

TEST_F(RunListsTest, TheShortestThatHoldsIsTaken) {
    insert(10, 100);
    OwnerLine *const three = insert(200, 3);
    insert(300, 64);
    OwnerLine *const longest = insert(400, 101);
    EXPECT_EQ(best_fit(1), 200u);
    EXPECT_EQ(best_fit(3), 200u);
    EXPECT_EQ(best_fit(4), 300u);
    EXPECT_EQ(best_fit(65), 10u);
    EXPECT_EQ(best_fit(101), 400u);
    EXPECT_EQ(lists_.longest(), longest);
    lists_.remove(three);
    EXPECT_EQ(best_fit(1), 300u);
    EXPECT_EQ(lists_.bytes(), (100 + 64 + 101) * slot_size);
}

TEST_F(RunListsTest, TheOneFreedLastComesFirst) {
    OwnerLine *const a = insert(10, 5);
    OwnerLine *const b = insert(18, 5);
    OwnerLine *const c = insert(26, 5);
    EXPECT_EQ(best_fit(5), 26u);
    lists_.remove(b); // from the middle
    EXPECT_EQ(best_fit(5), 26u);
    lists_.remove(c);
    EXPECT_EQ(best_fit(5), 10u);
    lists_.remove(a);
    EXPECT_EQ(lists_.longest(), nullptr);
}

TEST_F(RunListsTest, RunsWithAnAlignedPieceAreKeptForThoseWhoNeedIt) {
    insert(10, 5);
    insert(20, 5); // 20 to 23
    EXPECT_EQ(best_fit(5), 10u);
    EXPECT_EQ(best_fit(4, 4), 20u);
}

TEST_F(RunListsTest, RunsThatDoNotFitAreNotLookedAtOneByOne) {
    OwnerLine *const fits = insert(16, 9);
    OwnerLine *first = nullptr;
    for (unsigned slot = 34; slot + 9 <= 500; slot += 16) { // 34 to 42: no 8 slots at a multiple of 8
        first = insert(slot, 9);
    }
    OwnerLine *const next = first->next;
    first->next = reinterpret_cast<OwnerLine *>(sizeof(OwnerLine)); // nothing can be read there
    EXPECT_EQ(best_fit(8, 8), 16u);
    lists_.remove(fits);
    EXPECT_EQ(best_fit(8, 8), 0u);
    first->next = next;
    EXPECT_EQ(best_fit(9), window_.segment().slot_of(first));
}

TEST_F(RunListsTest, TheLookForAnAlignedPieceOfAnotherLengthIsShort) {
    constexpr unsigned longest_look = 32;
    insert(16, 3);
    for (unsigned slot = 20, count = 1; count < longest_look; slot += 4) {
        if (slot % 16 != 0) {
            insert(slot, 3);
            ++count;
        }
    }
    EXPECT_EQ(best_fit(3, 16), 16u);
    insert(500, 3);
    EXPECT_EQ(best_fit(3, 16), 0u);
    EXPECT_EQ(best_fit(3), 500u);
}

TEST_F(RunListsTest, AlignedPiecesLieInsideTheirRun) {
    OwnerLine *const run = insert(9, 20); // 9 to 28
    EXPECT_EQ(best_fit(8, 8), 16u);
    EXPECT_EQ(whole_, run);
    EXPECT_EQ(best_fit(13, 16), 16u);
    EXPECT_EQ(best_fit(14, 16), 0u) << "would end behind the run";
    OwnerLine *const aligned = insert(64, 8);
    EXPECT_EQ(best_fit(8, 8), 64u) << "the shorter one";
    EXPECT_EQ(whole_, aligned);
    insert(101, 9);
    EXPECT_EQ(best_fit(9, 8), 16u) << "long enough, but only from 104 on";
}

TEST_F(RunListsTest, RandomRequestsAgreeWithTheModel) {
    std::map<unsigned, unsigned> free; // length of the run at each slot
    std::mt19937_64 random(4);
    for (int step = 0; step < 20000; ++step) {
        const auto place = static_cast<unsigned>(random() % 31);
        const unsigned slot = metadata_slots + place * 16 + place % 8;
        if (const auto found = free.find(slot); found != free.end()) {
            lists_.remove(&window_.segment().owner_lines[slot]);
            free.erase(found);
        } else {
            free[slot] = static_cast<unsigned>(1 + random() % 7);
            insert(slot, free[slot]);
        }
        std::size_t bytes = 0;
        unsigned longest = 0;
        for (const auto &run : free) {
            bytes += run.second * slot_size;
            longest = std::max(longest, run.second);
        }
        ASSERT_EQ(lists_.bytes(), bytes);
        ASSERT_EQ(lists_.longest() == nullptr ? 0u : lists_.longest()->slots, longest);

        const auto slots = static_cast<unsigned>(1 + random() % 8);
        const unsigned alignment = 1u << random() % 4;
        unsigned shortest = UINT32_MAX;
        for (const auto &[at, length] : free) {
            if (align_up(at, alignment) + slots <= at + length) {
                shortest = std::min(shortest, length);
            }
        }
        const unsigned piece = best_fit(slots, alignment);
        ASSERT_EQ(piece != 0, shortest != UINT32_MAX);
        if (piece != 0) {
            const unsigned at = window_.segment().slot_of(whole_);
            ASSERT_EQ(free.at(at), shortest);
            ASSERT_TRUE(is_aligned(piece, alignment));
            ASSERT_TRUE(piece >= at && piece + slots <= at + shortest);
        }
    }
}

} // namespace
