// SPDX-License-Identifier: MIT
//
// Emptiness: the invariant as Hoard has it, and the border at which a free looks around.
#include "window.hpp"

#include <cairn/superblock/emptiness.hpp>
#include <cairn/superblock/fullness_groups.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

using Quarter = Emptiness<128_KiB, 1, 4>;
using Third = Emptiness<128_KiB, 1, 3>;
using Half = Emptiness<0, 1, 2, 4>;

template <class Discipline>
void expect_the_invariant(std::size_t u, std::size_t a) {
    const double f = static_cast<double>(Discipline::numerator) / Discipline::denominator;
    const bool kept =
        static_cast<double>(u) >= static_cast<double>(a) - static_cast<double>(Discipline::slack) ||
        static_cast<double>(u) >= (1 - f) * static_cast<double>(a);
    EXPECT_EQ(Discipline::too_empty(u, a), !kept) << "u = " << u << ", a = " << a;
}

TEST(Emptiness, TooEmptyIsWhatHoardCallsSo) {
    for (const std::size_t a : {std::size_t{0}, 64_KiB, 128_KiB, 192_KiB, 512_KiB, 1_MiB, 64_MiB, 64_GiB}) {
        for (std::size_t part = 0; part <= 64; ++part) {
            for (const std::size_t u : {a * part / 64, a * part / 64 + 1}) {
                expect_the_invariant<Quarter>(u, a);
                expect_the_invariant<Half>(u, a);
            }
        }
    }
}

TEST(Emptiness, AHeapMayHoldTheSlackWhateverItsShare) {
    EXPECT_FALSE(Quarter::too_empty(0, 128_KiB));
    EXPECT_TRUE(Quarter::too_empty(0, 128_KiB + 1));
    EXPECT_FALSE(Quarter::too_empty(0, 0));
    EXPECT_TRUE(Half::too_empty(0, 1));
}

class Border : public testing::Test {
protected:
    /// A superblock of `capacity` blocks, of which `live` are out.
    OwnerLine *superblock(unsigned capacity, unsigned live) {
        OwnerLine *const s = window_.run(metadata_slots, 1);
        shared_of(s)->capacity = static_cast<std::uint16_t>(capacity);
        s->check_at = 0;
        s->frees_until_check = static_cast<std::int32_t>(live);
        return s;
    }

    test::Window window_;
};

TEST_F(Border, IsOneStepOfFreesAway) {
    for (const unsigned capacity : {8u, 9u, 12u, 15u, 16u, 63u, 64u, 100u, 8192u}) {
        const unsigned step = Quarter::step_of(capacity);
        const unsigned remote = Quarter::remote_step_of(capacity);
        EXPECT_GE(std::min(step, remote), 2u);
        EXPECT_GE(step, remote) << "it is the owner who frees most";
        EXPECT_LE(step - 1 + remote - 1, 2 * capacity / Quarter::steps) << "this is what nobody knows of";
        for (unsigned live = 1; live <= capacity; live += live < 70 ? 1 : 61) {
            OwnerLine *const s = superblock(capacity, live);
            Quarter::rearm(s);
            ASSERT_EQ(s->live(), live) << "rearm counts nothing";
            unsigned frees = 0;
            do {
                ++frees;
            } while (--s->frees_until_check != 0);
            ASSERT_EQ(frees, std::min(step, live)) << live << " of " << capacity;
            ASSERT_EQ(s->live(), live - frees);
        }
    }
}

TEST_F(Border, IsReachedAtTheLatestWhenTheLastBlockIsFreed) {
    for (const unsigned capacity : {8u, 64u, 8192u}) {
        OwnerLine *const s = superblock(capacity, capacity);
        unsigned looks = 0;
        Quarter::rearm(s);
        while (s->live() != 0) {
            if (--s->frees_until_check == 0) {
                ++looks;
                if (s->live() != 0) {
                    Quarter::rearm(s);
                }
            }
        }
        EXPECT_EQ(s->frees_until_check, 0) << "the last free is one that looks";
        EXPECT_EQ(looks, ceil_div(capacity, Quarter::step_of(capacity)));
    }
}

TEST_F(Border, ALoneMallocAndFreeStayOnTheFastPath) {
    OwnerLine *const s = superblock(64, 0);
    Quarter::rearm(s);
    EXPECT_EQ(s->live(), 0u);
    for (int i = 0; i < 1000; ++i) {
        ++s->frees_until_check;
        ASSERT_NE(--s->frees_until_check, 0);
    }
}

TEST(Emptiness, MovableGroupsAreThoseOfSuperblocksAFractionEmpty) {
    using Groups = FullnessGroups<1>;
    constexpr unsigned movable = Third::movable_groups<Groups::groups>;
    for (const unsigned capacity : {8u, 9u, 12u, 15u, 16u, 63u, 64u, 100u, 8192u}) {
        for (unsigned live = 0; live <= capacity; ++live) {
            EXPECT_EQ(Groups::group_of(live, capacity) < movable, live * 3 < capacity * 2)
                << live << " of " << capacity;
        }
    }
    static_assert(Half::movable_groups<4> == 2);
}

} // namespace
