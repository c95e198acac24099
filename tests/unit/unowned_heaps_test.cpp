// SPDX-License-Identifier: MIT
//
// The list of heaps without a thread: each heap is in it once, wherever it was taken from before.
#include <cairn/thread/unowned_heaps.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace cairn;

namespace {

struct Heap {
    struct Inbox {
        bool unowned = false;
        void set_unowned(bool is) { unowned = is; }
        bool is_unowned() const { return unowned; }
    };
    Inbox &inbox() { return inbox_; }

    Heap *next_unowned = nullptr;
    Heap *previous_unowned = nullptr;

private:
    Inbox inbox_;
};

TEST(UnownedHeaps, TheOneThatWasPutLastComesFirst) {
    UnownedHeaps<Heap> list;
    Heap heaps[3];
    EXPECT_EQ(list.take(nullptr), nullptr);
    for (Heap &heap : heaps) {
        list.put(&heap);
        EXPECT_TRUE(heap.inbox().is_unowned());
    }
    EXPECT_EQ(list.take(&heaps[1]), &heaps[1]) << "out of the middle";
    EXPECT_EQ(list.take(&heaps[1]), &heaps[2]) << "a thread has the wanted one";
    EXPECT_FALSE(heaps[2].inbox().is_unowned());
    EXPECT_EQ(list.take(nullptr), &heaps[0]);
    EXPECT_EQ(list.take(nullptr), nullptr);
}

TEST(UnownedHeaps, GivesEachHeapToOneThread) {
    UnownedHeaps<Heap> list;
    std::vector<Heap> heaps(6);
    std::vector<Heap *> taken;
    for (Heap &heap : heaps) {
        taken.push_back(&heap);
    }
    std::mt19937 random(1);
    for (int i = 0; i < 10'000; ++i) {
        if (random() % 2 == 0 && !taken.empty()) {
            std::swap(taken[random() % taken.size()], taken.back());
            list.put(taken.back());
            taken.pop_back();
            continue;
        }
        Heap &wanted = heaps[random() % heaps.size()];
        Heap *const heap = list.take(random() % 2 == 0 ? &wanted : nullptr);
        if (heap == nullptr) {
            ASSERT_EQ(taken.size(), heaps.size());
            continue;
        }
        ASSERT_EQ(std::count(taken.begin(), taken.end(), heap), 0) << "two threads have one heap";
        taken.push_back(heap);
    }
}

} // namespace
