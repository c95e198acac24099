// SPDX-License-Identifier: MIT
//
// Places: every superblock in the one list that its state asks for.
#include "window.hpp"

#include <cairn/superblock/places.hpp>

#include <gtest/gtest.h>

#include <climits>
#include <random>
#include <set>
#include <vector>

using namespace cairn;

namespace {

constexpr unsigned capacity = 64;

class PlacesTest : public testing::Test {
protected:
    /// The superblock number i of the class, all its blocks carved, `live` of them out.
    OwnerLine *make(unsigned i, unsigned size_class, unsigned live) {
        OwnerLine *const s = window_.run(metadata_slots + i, 1);
        shared_of(s)->capacity = capacity;
        s->size_class = static_cast<std::uint8_t>(size_class);
        s->place = Place::nowhere;
        s->carved = capacity;
        set_live(s, live);
        return s;
    }
    static void set_live(OwnerLine *s, unsigned live) {
        s->check_at = 0;
        s->frees_until_check = static_cast<std::int32_t>(live);
        s->accounted = live;
        s->free = live == s->carved ? superblock::end_mark(memory_of(s)) : memory_of(s);
    }

    test::Window window_;
    Places<3> places_;
};

TEST_F(PlacesTest, TheStateSaysWhere) {
    OwnerLine *const empty = make(0, 0, 0);
    OwnerLine *const some = make(1, 0, 1);
    OwnerLine *const full = make(2, 0, capacity);
    OwnerLine *const uncarved = make(3, 0, capacity / 2);
    uncarved->carved = capacity / 2; // no free block, but more to carve
    set_live(uncarved, capacity / 2);
    for (OwnerLine *s : {empty, some, full, uncarved}) {
        places_.put(s);
    }
    EXPECT_EQ(empty->place, Place::empty);
    EXPECT_EQ(some->place, Place::partial);
    EXPECT_EQ(full->place, Place::full);
    EXPECT_EQ(uncarved->place, Place::partial);

    EXPECT_EQ(places_.empty(), empty);
    EXPECT_EQ(places_.emptiest(3), empty) << "nothing is emptier than empty";
    EXPECT_EQ(places_.take_fullest(0), uncarved);
    EXPECT_EQ(places_.take_fullest(0), some);
    EXPECT_EQ(places_.take_fullest(0), nullptr) << "neither a full nor an empty one";
    places_.take_out(empty);
    EXPECT_EQ(places_.empty(), nullptr);
    EXPECT_EQ(places_.emptiest(3), nullptr);
    EXPECT_EQ(places_.any(), full);
    places_.take_out(full);
    EXPECT_EQ(places_.any(), nullptr);
    for (const OwnerLine *s : {empty, some, full, uncarved}) {
        EXPECT_EQ(s->place, Place::nowhere);
    }
}

TEST_F(PlacesTest, AnEmptyOneIsOfTheClassElseOfTheLength) {
    OwnerLine *const of_two = make(0, 0, 0);
    OwnerLine *const of_one = make(1, 1, 0);
    OwnerLine *const of_four = make(2, 2, 0);
    of_two->slots = 2;
    of_four->slots = 4;
    EXPECT_EQ(places_.empty_for(0, 2), nullptr);
    for (OwnerLine *s : {of_four, of_one, of_two}) {
        places_.put(s);
    }
    EXPECT_EQ(places_.empty_for(0, 2), of_two);
    EXPECT_EQ(places_.empty_for(2, 4), of_four) << "behind others";
    EXPECT_EQ(places_.empty_for(0, 4), of_two) << "the class decides";
    places_.take_out(of_two);
    EXPECT_EQ(places_.empty_for(0, 4), of_four);
    EXPECT_EQ(places_.empty_for(0, 2), nullptr) << "none is so long";
}

TEST_F(PlacesTest, WhatIsInABinIsInNoList) {
    OwnerLine *const s = make(0, 0, 1);
    s->place = Place::current;
    places_.take_out(s);
    EXPECT_EQ(s->place, Place::nowhere);
    EXPECT_EQ(places_.any(), nullptr);
}

TEST_F(PlacesTest, AFullOneWithRoomIsFoundBehindOthers) {
    OwnerLine *const first = make(0, 1, capacity);
    OwnerLine *const second = make(1, 1, capacity);
    OwnerLine *const third = make(2, 1, capacity);
    OwnerLine *const of_another_class = make(3, 2, capacity);
    for (OwnerLine *s : {first, second, third, of_another_class}) {
        places_.put(s);
    }
    constexpr unsigned all = UINT_MAX;
    EXPECT_EQ(places_.take_full(1, all, [](const OwnerLine *) { return false; }), nullptr);
    EXPECT_EQ(places_.take_full(1, all, [=](const OwnerLine *s) { return s == second; }), second);
    EXPECT_EQ(second->place, Place::nowhere);
    EXPECT_EQ(places_.take_full(1, all, [=](const OwnerLine *s) { return s == second; }), nullptr);
    EXPECT_EQ(places_.take_full(1, all, [=](const OwnerLine *s) { return s == of_another_class; }), nullptr);
    EXPECT_EQ(places_.take_full(0, all, [](const OwnerLine *) { return true; }), nullptr) << "an empty class";
    for (OwnerLine *s : {first, of_another_class}) {
        places_.take_out(s);
    }
    EXPECT_EQ(places_.any(), third);
}

TEST_F(PlacesTest, FullOnesAreLookedAtInTurn) {
    std::vector<OwnerLine *> all;
    for (unsigned i = 0; i < 5; ++i) {
        all.push_back(make(i, 1, capacity));
        places_.put(all.back());
    }
    std::vector<const OwnerLine *> seen;
    const auto look = [&](const OwnerLine *s) {
        seen.push_back(s);
        return false;
    };
    EXPECT_EQ(places_.take_full(1, 0, look), nullptr);
    EXPECT_TRUE(seen.empty());
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(places_.take_full(1, 2, look), nullptr);
    }
    const std::vector<const OwnerLine *> expected{all[0], all[1], all[2], all[3], all[4], all[0]};
    EXPECT_EQ(seen, expected);

    seen.clear();
    places_.take_out(all[1]); // the next
    places_.put(all[1]);      // becomes the last
    EXPECT_EQ(places_.take_full(1, 100, look), nullptr) << "each once, however many looks there may be";
    const std::vector<const OwnerLine *> once{all[2], all[3], all[4], all[0], all[1]};
    EXPECT_EQ(seen, once);
}

TEST_F(PlacesTest, FullOnesThatWereSetAsideAreLookedAtNoMore) {
    std::vector<OwnerLine *> all;
    for (unsigned i = 0; i < 7; ++i) {
        all.push_back(make(i, i == 6 ? 2 : 1, capacity));
    }
    std::vector<const OwnerLine *> seen;
    const auto look = [&](const OwnerLine *s) {
        seen.push_back(s);
        return false;
    };
    const auto looks = [&] {
        seen.clear();
        EXPECT_EQ(places_.take_full(1, 100, look), nullptr);
        return seen;
    };
    using Lines = std::vector<const OwnerLine *>;
    places_.set_full_aside(1); // none
    for (unsigned i : {0u, 1u, 2u, 6u}) {
        places_.put(all[i]);
    }
    places_.set_full_aside(1);
    EXPECT_EQ(looks(), Lines{});
    EXPECT_EQ(places_.take_full(2, 1, [](const OwnerLine *) { return true; }), all[6]) << "another class";

    places_.put(all[3]);
    places_.take_out(all[0]); // the first one, and one that is put again
    places_.put(all[0]);
    EXPECT_EQ(looks(), (Lines{all[3], all[0]}));
    places_.set_full_aside(1); // behind others
    EXPECT_EQ(looks(), Lines{});
    places_.put(all[4]);
    EXPECT_EQ(looks(), Lines{all[4]});

    std::set<OwnerLine *> found;
    while (OwnerLine *const s = places_.any()) {
        ASSERT_TRUE(found.insert(s).second) << "twice in the lists";
        places_.take_out(s);
    }
    EXPECT_EQ(found, std::set<OwnerLine *>(all.begin(), all.begin() + 5));
}

TEST_F(PlacesTest, RandomMovesKeepEachInExactlyOneList) {
    std::vector<OwnerLine *> all;
    for (unsigned i = 0; i < 50; ++i) {
        all.push_back(make(i, i % 3, 0));
        places_.put(all.back());
    }
    std::mt19937_64 random(2);
    for (int step = 0; step < 5000; ++step) {
        OwnerLine *const s = all[random() % all.size()];
        places_.take_out(s);
        set_live(s, std::array{0u, 1u, 33u, 63u, capacity}[random() % 5]);
        places_.put(s);
        if (step % 100 == 0) {
            places_.set_full_aside(static_cast<unsigned>(random() % 3));
        }
        ASSERT_EQ(s->place, s->live() == 0          ? Place::empty
                            : s->live() == capacity ? Place::full
                                                    : Place::partial);
    }
    std::set<OwnerLine *> found;
    while (OwnerLine *const s = places_.any()) {
        ASSERT_TRUE(found.insert(s).second) << "twice in the lists";
        places_.take_out(s);
    }
    EXPECT_EQ(found.size(), all.size());
}

} // namespace
