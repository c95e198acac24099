// SPDX-License-Identifier: MIT
//
// FullnessGroups: against a model that keeps a list for each class and group.
#include "window.hpp"

#include <cairn/superblock/fullness_groups.hpp>

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <set>

using namespace cairn;

namespace {

constexpr unsigned classes = 70; // more than a word of the bitmap
constexpr unsigned capacity = 100;
using Groups = FullnessGroups<classes>;

class FullnessGroupsTest : public testing::Test {
protected:
    /// The superblock number i, with so many live blocks.
    OwnerLine *make(unsigned i, unsigned size_class, unsigned live) {
        OwnerLine *const s = window_.run(metadata_slots + i, 1);
        shared_of(s)->capacity = capacity;
        s->size_class = static_cast<std::uint8_t>(size_class);
        set_live(s, live);
        return s;
    }
    static void set_live(OwnerLine *s, unsigned live) {
        s->check_at = 0;
        s->frees_until_check = static_cast<std::int32_t>(live);
        s->accounted = live;
    }

    test::Window window_;
    Groups groups_;
};

TEST_F(FullnessGroupsTest, GroupsDivideTheFullnessEvenly) {
    for (unsigned live = 0; live <= capacity; ++live) {
        EXPECT_EQ(Groups::group_of(live, capacity), live == capacity ? 5 : live * 6 / 100) << live;
    }
}

TEST_F(FullnessGroupsTest, AnEmptyOneHasNothing) {
    EXPECT_EQ(groups_.emptiest(Groups::groups), nullptr);
    for (unsigned c = 0; c < classes; ++c) {
        EXPECT_EQ(groups_.take_fullest(c), nullptr);
    }
}

TEST_F(FullnessGroupsTest, TheFullestOfItsClassComesFirst) {
    OwnerLine *const quarter = make(0, 69, 20);
    OwnerLine *const most = make(1, 69, 90);
    OwnerLine *const half = make(2, 69, 60);
    OwnerLine *const other = make(3, 68, 99);
    for (OwnerLine *s : {half, most, other, quarter}) {
        groups_.insert(s);
        EXPECT_EQ(s->place, Place::partial);
    }
    EXPECT_EQ(groups_.take_fullest(69), most);
    EXPECT_EQ(most->place, Place::nowhere);
    EXPECT_EQ(groups_.take_fullest(69), half);
    EXPECT_EQ(groups_.take_fullest(69), quarter);
    EXPECT_EQ(groups_.take_fullest(69), nullptr);
    EXPECT_EQ(groups_.take_fullest(68), other);
}

TEST_F(FullnessGroupsTest, WhatWasFreedIntoLastComesFirstOfItsGroup) {
    OwnerLine *const first = make(0, 5, 60);
    OwnerLine *const second = make(1, 5, 60);
    groups_.insert(first);
    groups_.insert(second);
    groups_.remove(first); // looked at again
    groups_.insert(first);
    EXPECT_EQ(groups_.take_fullest(5), first);
}

TEST_F(FullnessGroupsTest, TheEmptiestIsOfAnyClassAndBelowTheLimit) {
    OwnerLine *const half = make(0, 3, 60);
    OwnerLine *const little = make(1, 69, 30);
    groups_.insert(half);
    groups_.insert(little);
    EXPECT_EQ(groups_.emptiest(Groups::groups), little);
    EXPECT_EQ(groups_.emptiest(1), nullptr);
    groups_.remove(little);
    EXPECT_EQ(groups_.emptiest(4), half);
    EXPECT_EQ(groups_.emptiest(3), nullptr) << "it is in group 3";
}

TEST_F(FullnessGroupsTest, RandomMovesAgreeWithTheModel) {
    std::map<std::pair<unsigned, unsigned>, std::list<OwnerLine *>> model; // by class and group
    std::set<OwnerLine *> inside;
    std::vector<OwnerLine *> all;
    for (unsigned i = 0; i < 60; ++i) {
        all.push_back(make(i, i % 5 * 17, 0));
    }
    const auto drop = [&](OwnerLine *s) {
        model[{s->size_class, s->group}].remove(s);
        inside.erase(s);
    };
    std::mt19937_64 random(1);
    for (int step = 0; step < 20000; ++step) {
        OwnerLine *const s = all[random() % all.size()];
        if (!inside.contains(s)) {
            set_live(s, static_cast<unsigned>(random() % (capacity + 1)));
            groups_.insert(s);
            ASSERT_EQ(s->group, Groups::group_of(s->live(), capacity));
            model[{s->size_class, s->group}].push_front(s);
            inside.insert(s);
        } else if (random() % 2 == 0) {
            // The group is that of the last look, whatever has been freed since.
            set_live(s, static_cast<unsigned>(random() % (capacity + 1)));
            groups_.remove(s);
            drop(s);
        }
        if (step % 7 == 0) {
            const unsigned c = static_cast<unsigned>(random() % 5 * 17);
            OwnerLine *expected = nullptr;
            for (unsigned g = Groups::groups; expected == nullptr && g-- > 0;) {
                const auto &list = model[{c, g}];
                expected = list.empty() ? nullptr : list.front();
            }
            ASSERT_EQ(groups_.take_fullest(c), expected);
            if (expected != nullptr) {
                drop(expected);
            }
        }
        const auto limit = static_cast<unsigned>(random() % (Groups::groups + 1));
        const OwnerLine *const emptiest = groups_.emptiest(limit);
        unsigned least = limit;
        for (const OwnerLine *one : inside) {
            least = std::min<unsigned>(least, one->group);
        }
        ASSERT_EQ(emptiest == nullptr, least == limit);
        if (emptiest != nullptr) {
            ASSERT_EQ(emptiest->group, least);
            ASSERT_EQ((model[{emptiest->size_class, least}].front()), emptiest);
        }
    }
}

} // namespace
