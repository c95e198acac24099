// SPDX-License-Identifier: MIT
//
// Routes: what a slow path tells of growth and of free memory, and what it need not.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <memory>

using namespace cairn;

namespace {

struct Counting {
    static inline unsigned surpluses = 0;
    static bool attached() noexcept { return true; }
    static void grew() noexcept {}
    static void surplus() noexcept { ++surpluses; }
    static void returned() noexcept {}
};

TEST(Routes, ARunThatWaitsForItsThreadIsTakenAgainAndIsNoSurplus) {
    const auto heap = std::make_unique<Flagship<Counting>>();
    heap->free(heap->malloc(1)); // the thread has a heap from here on
    heap->set_surplus_limit(slot_size);
    Counting::surpluses = 0;

    void *const p = heap->malloc(2 * slot_size);
    heap->free(p);
    EXPECT_EQ(Counting::surpluses, 0u);
    ASSERT_EQ(heap->malloc(2 * slot_size), p) << "not the next run";
    void *const longer = heap->malloc(3 * slot_size);
    heap->free(p);
    EXPECT_EQ(Counting::surpluses, 0u);
    heap->free(longer); // drives the other one out
    EXPECT_EQ(Counting::surpluses, 1u);
    heap->detach();
}

} // namespace
