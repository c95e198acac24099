// SPDX-License-Identifier: MIT
//
// Presence: who is in, who gets in, and that owner and visitor never use one thing at the same time.
#include <cairn/sync/presence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace cairn;

namespace {

const char one_thing = 0;

bool can_visit(sync::Presence &presence) {
    bool got_in = false;
    std::thread([&] {
        got_in = presence.try_visit();
        if (got_in) {
            presence.end_visit();
        }
    }).join();
    return got_in;
}

TEST(Presence, VisitorsComeWhileTheOwnerIsOut) {
    sync::Presence presence;
    EXPECT_TRUE(can_visit(presence));
    presence.enter();
    EXPECT_FALSE(can_visit(presence)) << "and at once, the owner may be asleep";
    presence.leave();
    EXPECT_TRUE(can_visit(presence));
}

TEST(Presence, OneVisitorAtATime) {
    sync::Presence presence;
    ASSERT_TRUE(presence.try_visit());
    EXPECT_FALSE(can_visit(presence));
    presence.end_visit();
    EXPECT_TRUE(can_visit(presence));
}

TEST(Presence, AShortSectionIsSeen) {
    sync::Presence presence;
    presence.begin(&one_thing);
    ASSERT_TRUE(presence.try_visit());
    sync::Presence::Thing at = sync::Presence::nothing;
    ASSERT_TRUE(presence.owner_uses(at));
    EXPECT_EQ(at, address_of(&one_thing));
    presence.end();
    ASSERT_TRUE(presence.owner_uses(at));
    EXPECT_EQ(at, sync::Presence::nothing);
    presence.end_visit();
}

TEST(Presence, TheOwnerWaitsForAVisitorToLeave) {
    sync::Presence presence;
    std::atomic<bool> inside{false};
    ASSERT_TRUE(presence.try_visit());
    std::thread owner([&] {
        const sync::Inside enter(presence);
        inside = true;
    });
    for (int i = 0; i < 100; ++i) {
        std::this_thread::yield();
        EXPECT_FALSE(inside);
    }
    presence.end_visit();
    owner.join();
    EXPECT_TRUE(inside);
}

TEST(Presence, InTheChildOfAForkNobodyIsIn) {
    sync::Presence presence;
    EXPECT_FALSE(presence.reset_after_fork());
    std::thread([&] { EXPECT_TRUE(presence.try_visit()); }).join();
    EXPECT_TRUE(presence.reset_after_fork()) << "a visitor was";
    presence.enter();
    EXPECT_FALSE(presence.reset_after_fork());
    EXPECT_TRUE(can_visit(presence));
}

/// Without a heavy fence on either side.
TEST(Presence, FencedOwnerAndVisitorsNeverMeet) {
    constexpr long rounds = platform::sanitized ? 20000 : 500000;
    sync::Presence presence;
    presence.enter();
    presence.fence_from_now_on();
    presence.leave();
    long everything = 0;
    long visits = 0;
    long inside = 0;
    std::atomic<bool> over{false};
    std::thread visitor([&] {
        for (bool last = false; !last;) {
            last = over; // then the owner is out for good
            if (presence.try_visit()) {
                sync::Presence::Thing at = address_of(&one_thing);
                EXPECT_TRUE(presence.owner_uses(at));
                EXPECT_EQ(at, sync::Presence::nothing) << "its short sections are on nothing";
                ++visits;
                ++everything;
                presence.end_visit();
            }
        }
    });
    for (long i = 0; i < rounds; ++i) {
        presence.begin(&one_thing);
        presence.end();
        presence.enter();
        inside += presence.owner_is_inside();
        ++everything;
        presence.end();
    }
    over = true;
    visitor.join();
    EXPECT_EQ(inside, rounds);
    EXPECT_GT(visits, 0);
    EXPECT_EQ(everything, visits + rounds);
}

/// A thing that is used with plain loads and stores by whoever has it, and says so meanwhile.
TEST(Presence, OwnerAndVisitorsNeverUseOneThingTogether) {
    struct Thing {
        std::atomic<bool> there{true};
        std::atomic<int> users{0};
        long uses = 0;

        void use(int pauses) {
            EXPECT_EQ(users.fetch_add(1, std::memory_order_relaxed), 0);
            for (int i = 0; i < pauses; ++i) {
                platform::cpu_relax();
            }
            ++uses;
            users.fetch_sub(1, std::memory_order_relaxed);
        }
    };
    constexpr int rounds = platform::sanitized ? 20000 : 200000;
    sync::Presence presence;
    Thing thing;
    long everything = 0; // used between enter and leave, and by visitors
    long used_by_visitors = 0;
    long visits = 0;
    std::atomic<bool> over{false};
    std::thread visitor([&] {
        while (!over) {
            if (!presence.try_visit()) {
                std::this_thread::yield();
                continue;
            }
            ++visits;
            ++everything;
            thing.there.store(false, std::memory_order_relaxed);
            sync::Presence::Thing at = sync::Presence::nothing;
            EXPECT_TRUE(presence.owner_uses(at));
            if (at != address_of(&thing)) {
                thing.use(20);
                ++used_by_visitors;
            }
            thing.there.store(true, std::memory_order_release);
            presence.end_visit();
        }
    });
    long used = 0;
    for (int i = 0; i < rounds; ++i) {
        presence.begin(&thing);
        if (thing.there.load(std::memory_order_acquire)) {
            thing.use(1);
            ++used;
        }
        presence.end();
        if (i % 16 == 0) {
            const sync::Inside inside(presence);
            ++everything;
        }
        if (i % 1024 == 0) {
            std::this_thread::yield();
        }
    }
    over = true;
    visitor.join();
    EXPECT_EQ(thing.uses, used + used_by_visitors);
    EXPECT_EQ(everything, visits + rounds / 16);
}

} // namespace
