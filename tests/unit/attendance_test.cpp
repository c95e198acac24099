// SPDX-License-Identifier: MIT
//
// Attendance: a heap is due when its thread has stayed away for long enough, and once for each time.
#include <cairn/thread/attendance.hpp>

#include <gtest/gtest.h>

using cairn::Attendance;

TEST(Attendance, OneThatWasNeverUsedIsNeverDue) {
    Attendance attendance;
    EXPECT_FALSE(attendance.is_due(0, 10));
    EXPECT_FALSE(attendance.is_due(1000, 10));
}

TEST(Attendance, DueOnceWhenItsThreadHasStayedAway) {
    Attendance attendance;
    attendance.come_by();
    EXPECT_FALSE(attendance.is_due(100, 10)) << "seen for the first time";
    EXPECT_FALSE(attendance.is_due(109, 10));
    EXPECT_TRUE(attendance.is_due(110, 10));
    EXPECT_FALSE(attendance.is_due(200, 10)) << "said already";
    EXPECT_TRUE(attendance.is_due(201, 10, /*again=*/true));
    EXPECT_TRUE(attendance.is_reported());
    attendance.come_by();
    EXPECT_FALSE(attendance.is_reported()) << "it has come by since";
    EXPECT_FALSE(attendance.is_due(300, 10));
    attendance.come_by();
    EXPECT_FALSE(attendance.is_due(310, 10)) << "it has come by in between";
    EXPECT_TRUE(attendance.is_due(320, 10));
}

TEST(Attendance, IsNotDueForWhoLooksWithAnEarlierTime) {
    Attendance attendance;
    attendance.come_by();
    EXPECT_FALSE(attendance.is_due(100, 10));
    EXPECT_FALSE(attendance.is_due(99, 10)) << "read before another thread looked";
    EXPECT_TRUE(attendance.is_due(110, 10));
}

TEST(Attendance, WhoComesBackIsMissedOnce) {
    Attendance attendance;
    attendance.come_by();
    EXPECT_TRUE(attendance.take_missed()) << "nobody has looked yet";
    EXPECT_FALSE(attendance.take_missed());
    EXPECT_FALSE(attendance.is_due(100, 10));
    EXPECT_FALSE(attendance.is_missed()) << "somebody looks";
    EXPECT_TRUE(attendance.is_due(110, 10));
    EXPECT_TRUE(attendance.is_missed());
    attendance.come_by();
    EXPECT_TRUE(attendance.take_missed());
    EXPECT_FALSE(attendance.is_reported());
}

TEST(Attendance, AnotherThreadIsMissedFromTheStart) {
    Attendance attendance;
    attendance.come_by();
    EXPECT_FALSE(attendance.is_due(100, 10));
    attendance.begin();
    attendance.come_by();
    EXPECT_TRUE(attendance.take_missed());
}
