// SPDX-License-Identifier: MIT
//
// InboxTable: a inbox for each number, memory for those who need it only.
#include "process_memory.hpp"

#include <cairn/superblock/inbox_table.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace cairn;

namespace {

class InboxTableTest : public testing::Test {
protected:
    RunHeap runs_;
    InboxTable table_;
};

TEST_F(InboxTableTest, EachNumberHasItsOwn) {
    std::vector<Inbox> inboxes(InboxTable::numbers);
    for (unsigned number = 1; number < InboxTable::numbers; ++number) {
        ASSERT_TRUE(table_.make_room(runs_, number));
        EXPECT_EQ(table_.get(number), nullptr);
        table_.set(number, &inboxes[number]);
    }
    for (unsigned number = 1; number < InboxTable::numbers; ++number) {
        ASSERT_EQ(table_.get(number), &inboxes[number]);
    }
    EXPECT_EQ(runs_.resident_bytes(), 0u) << "the kernel had memory";
}

TEST_F(InboxTableTest, WhereTheKernelHasNothingRunsServe) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            OwnerLine *const run = runs_.allocate(RunHeap::longest_run - 2).first; // all but two slots
            test::limit_address_space(0);
            Inbox inbox;
            for (const unsigned number : {512u, 1024u}) {
                EXPECT_TRUE(table_.make_room(runs_, number));
                table_.set(number, &inbox);
                EXPECT_EQ(table_.get(number), &inbox);
                EXPECT_EQ(table_.get(number + 511), nullptr);
            }
            EXPECT_FALSE(table_.make_room(runs_, 65535)) << "nor have they";
            EXPECT_TRUE(table_.make_room(runs_, 511)) << "those are always there";
            EXPECT_TRUE(table_.make_room(runs_, 1025)) << "and these now";
            runs_.release(run);
            EXPECT_TRUE(table_.make_room(runs_, 65535));
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

} // namespace
