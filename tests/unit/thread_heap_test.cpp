// SPDX-License-Identifier: MIT
//
// ThreadHeap: its blocks against a model, and the emptiness invariant after every look, whoever frees.
#include "thread_heap_fixture.hpp"

#include <cairn/thread/visit.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <unistd.h>

using namespace cairn;
using namespace cairn::test;

namespace {

using ThreadHeapTest = ThreadHeaps;

TEST(ThreadHeap, ANewOneServesNothing) {
    static constinit Heap nobody;
    for (std::size_t size = 0; size <= Classes::table_limit; ++size) {
        ASSERT_EQ(nobody.try_malloc_small(size), nullptr);
    }
}

TEST_F(ThreadHeapTest, EveryClassIsServed) {
    for (unsigned c = 0; c < Classes::count; ++c) {
        std::map<std::uintptr_t, void *> blocks;
        for (int i = 0; i < 20; ++i) {
            void *const p = heap_.malloc_class(c);
            ASSERT_NE(p, nullptr);
            EXPECT_TRUE(is_aligned(p, c == 0 ? 8 : 16));
            EXPECT_EQ(shared_of(superblock_of(p))->block_size, Classes::size_of(c));
            std::memset(p, 'x', Classes::size_of(c));
            EXPECT_TRUE(blocks.emplace(address_of(p), p).second);
        }
        std::uintptr_t end = 0;
        for (const auto &[start, p] : blocks) {
            EXPECT_GE(start, end) << "overlaps its neighbour";
            end = start + Classes::size_of(c);
            free(heap_, p);
        }
    }
    expect_accounts(heap_);
}

TEST_F(ThreadHeapTest, TheFastPathServesOnceTheBinIsFilled) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{9}, std::size_t{48}, Classes::table_limit}) {
        EXPECT_EQ(heap_.try_malloc_small(size), nullptr);
        void *const p = heap_.malloc_class(Classes::class_of(size));
        free(heap_, p);
        EXPECT_EQ(heap_.try_malloc_small(size), p) << "the block freed last";
        free(heap_, p);
    }
}

TEST_F(ThreadHeapTest, AWriteAfterFreeIsFoundByTheSlowPath) {
    void *const p = heap_.malloc_class(3);
    free(heap_, p);
    std::memset(p, 'x', 8);
    EXPECT_EQ(heap_.try_malloc_small(48), nullptr);
    EXPECT_DEATH(heap_.malloc_class(3), "heap corruption: free block 0x[0-9a-f]+ of size class 48");
}

/// Blocks of 10 KiB that fill a superblock, and one more, so that it is in no bin.
class RecentTest : public ThreadHeaps {
protected:
    static constexpr unsigned c_ = Classes::class_of(10_KiB);
    std::vector<void *> fill_one() {
        std::vector<void *> blocks;
        while (blocks.empty() || superblock_of(blocks.back()) == superblock_of(blocks.front())) {
            blocks.push_back(heap_.malloc_class(c_));
            EXPECT_NE(blocks.back(), nullptr);
        }
        return blocks;
    }
    OwnerLine *recent() { return heap_.holdings().recent().at(c_); }
};

TEST_F(RecentTest, TheMediumBlockThatWasFreedLastIsTheNextOne) {
    const std::vector<void *> blocks = fill_one();
    for (const std::size_t i : {0u, 1u, 2u}) {
        free(heap_, blocks[i]);
    }
    for (const std::size_t i : {2u, 1u, 0u}) {
        EXPECT_EQ(heap_.try_malloc_class(c_), blocks[i]);
    }
    EXPECT_EQ(superblock_of(heap_.malloc_class(c_)), superblock_of(blocks.back())) << "then the bin's";
    expect_accounts(heap_);
}

TEST_F(RecentTest, OneThatIsUsedUpCountsAsFull) {
    const std::vector<void *> blocks = fill_one();
    OwnerLine *const s = superblock_of(blocks[0]);
    for (const std::size_t i : {0u, 1u, 2u}) {
        free(heap_, blocks[i]);
    }
    EXPECT_EQ(s->place, Place::partial);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(superblock_of(heap_.try_malloc_class(c_)), s);
    }
    const OwnerLine *const current = heap_.bins().at(c_);
    for (const unsigned before = current->carved; current->carved == before;) { // until a slow path
        ASSERT_EQ(superblock_of(heap_.malloc_class(c_)), current);
    }
    EXPECT_EQ(s->place, Place::full);
    EXPECT_EQ(s->accounted, s->live());
    EXPECT_EQ(recent(), nullptr);
    expect_accounts(heap_);
}

TEST_F(RecentTest, OneWithoutLiveBlocksServesAnyClass) {
    for (int i = 0; i < 40; ++i) { // so that the heap is not too empty
        ASSERT_NE(heap_.malloc_class(Classes::class_of(32_KiB)), nullptr);
    }
    const std::vector<void *> blocks = fill_one();
    OwnerLine *const s = superblock_of(blocks[0]);
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
        free(heap_, blocks[i]);
    }
    ASSERT_EQ(s->place, Place::empty);
    EXPECT_EQ(recent(), nullptr);
    EXPECT_NE(superblock_of(heap_.malloc_class(c_)), s) << "the bin's has blocks";
    constexpr unsigned next = c_ + 1;
    ASSERT_EQ(Global::Maker::slots_of_class(next), Global::Maker::slots_of_class(c_));
    EXPECT_EQ(superblock_of(heap_.malloc_class(next)), s);
    expect_accounts(heap_);
}

/// It is to become empty.
TEST_F(RecentTest, OneThatIsNearlyEmptyIsNotRecent) {
    const std::vector<void *> blocks = fill_one();
    OwnerLine *const s = superblock_of(blocks[0]);
    std::size_t i = 0;
    for (; s->accounted >= heap_.holdings().recent().least_live; ++i) {
        EXPECT_TRUE(i == 0 || recent() == s) << i;
        free(heap_, blocks[i]);
    }
    EXPECT_EQ(recent(), nullptr) << "by the check";
    ASSERT_GT(s->live(), 1u);
    free(heap_, blocks[i]);
    EXPECT_EQ(recent(), nullptr) << "by the free";
    EXPECT_EQ(superblock_of(heap_.malloc_class(c_)), superblock_of(blocks.back())) << "the bin's";
    expect_accounts(heap_);
}

/// Its blocks in turn are counted when the bin is emptied.
TEST_F(RecentTest, TheBinsSuperblockIsOneAlsoWithoutLiveBlocks) {
    void *const p = heap_.malloc_class(c_);
    free(heap_, p);
    EXPECT_EQ(recent(), superblock_of(p));
    EXPECT_EQ(heap_.try_malloc_class(c_), p);
    free(heap_, p);
    heap_.hand_over();
    EXPECT_EQ(recent(), nullptr);
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(RecentTest, OneThatWasGivenAwayIsNoLongerRecent) {
    const std::vector<void *> blocks = fill_one();
    free(heap_, blocks[0]);
    ASSERT_EQ(recent(), superblock_of(blocks[0]));
    heap_.hand_over(Keep::nothing);
    EXPECT_EQ(recent(), nullptr);
    EXPECT_EQ(superblock_of(heaps_[1].malloc_class(c_)), superblock_of(blocks[0]));
}

TEST_F(RecentTest, AWriteAfterFreeIsFound) {
    const std::vector<void *> blocks = fill_one();
    free(heap_, blocks[0]);
    std::memset(blocks[0], 'x', 8);
    EXPECT_EQ(heap_.try_malloc_class(c_), nullptr);
    EXPECT_DEATH(heap_.malloc_class(c_), "heap corruption: free block 0x[0-9a-f]+ of size class");
}

TEST_F(RecentTest, NoneIsLeftAfterAFork) {
    free(heap_, fill_one()[0]);
    ASSERT_NE(recent(), nullptr);
    heap_.reset_after_fork();
    EXPECT_EQ(recent(), nullptr);
}

TEST_F(ThreadHeapTest, OwnSuperblocksComeBeforeThoseOfTheGlobalHeapAndThoseBeforeNewOnes) {
    const unsigned c = Classes::class_of(8_KiB);
    std::vector<void *> blocks;
    for (int i = 0; i < 8 * 8 - 1; ++i) { // one is left in the bin
        blocks.push_back(heap_.malloc_class(c));
    }
    EXPECT_EQ(owned(heap_), 8u);
    for (const std::size_t i :
         {8, 9, 10, 11, 20, 21, 40, 41}) { // of the second four, of the third and sixth two
        free(heap_, blocks[i]);
    }
    blocks.push_back(heap_.malloc_class(c));
    OwnerLine *const fullest = superblock_of(blocks[20]);
    const std::size_t fresh = global_->maker().made();
    for (int i = 0; i < 8; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    EXPECT_EQ(global_->maker().made(), fresh);
    EXPECT_TRUE(superblock_of(blocks[64]) == fullest ||
                superblock_of(blocks[64]) == superblock_of(blocks[40]))
        << "the fullest first";
    EXPECT_EQ(superblock_of(blocks[68]), superblock_of(blocks[8]));

    for (std::size_t i = 0; i < 4; ++i) {
        free(heap_, blocks[i]);
    }
    heap_.hand_over();
    Heap &next = heaps_[1];
    void *const p = next.malloc_class(c);
    EXPECT_EQ(superblock_of(p), superblock_of(blocks[4]));
    EXPECT_EQ(global_->maker().made(), fresh);
    EXPECT_EQ(global_->counters().from_global, 1u);
}

/// Full superblocks wait for an heir, who frees their blocks as its own.
TEST_F(ThreadHeapTest, WhatIsFullStaysWhenTheThreadEnds) {
    const unsigned c = Classes::class_of(8_KiB); // eight to a superblock
    std::vector<void *> blocks;
    for (int i = 0; i < 4 * 8; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    free(heap_, blocks[9]); // seven of eight are live, which nobody has accounted for
    for (int i = 24; i < 32; ++i) {
        free(heap_, blocks[i]);
    }
    heap_.hand_over();
    EXPECT_TRUE(owns(heap_, superblock_of(blocks[0])));
    EXPECT_TRUE(owns(heap_, superblock_of(blocks[16])));
    EXPECT_EQ(owned(heap_), 2u);
    EXPECT_EQ(remote_of(superblock_of(blocks[8]))->word.load() & RemoteWord::owner_mask, 0u) << "for anybody";
    expect_accounts(heap_);
    EXPECT_EQ(heap_.holdings().held(), heap_.holdings().used());

    EXPECT_FALSE(heap_.free_local(superblock_of(blocks[0]), address_of(blocks[0])));
    EXPECT_TRUE(heap_.free_local(superblock_of(blocks[0]), address_of(blocks[1]))) << "the check is due";
    heap_.check(superblock_of(blocks[0]));
    EXPECT_EQ(superblock_of(heap_.malloc_class(c)), superblock_of(blocks[0]));

    heap_.hand_over(Keep::nothing);
    EXPECT_EQ(owned(heap_), 0u) << "a thread that is no heir";
    EXPECT_EQ(heap_.holdings().held(), 0u);
}

TEST_F(ThreadHeapTest, AFullSuperblockServesAgainAtItsBorderIfTheBinHasNothing) {
    const unsigned c = Classes::class_of(8_KiB);
    std::vector<void *> blocks;
    for (int i = 0; i < 3 * 8; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    OwnerLine *const first = superblock_of(blocks[0]);
    OwnerLine *const third = superblock_of(blocks[16]);
    ASSERT_EQ(third->place, Place::current);
    free(heap_, blocks[0]);
    EXPECT_EQ(first->place, Place::full) << "not at its border yet";
    free(heap_, blocks[1]);
    EXPECT_EQ(first->place, Place::current);
    EXPECT_EQ(third->place, Place::full);
    EXPECT_EQ(heap_.try_malloc_small(8_KiB), blocks[1]) << "without a slow path";
    expect_accounts(heap_);

    free(heap_, blocks[8]); // of the second, while the bin has a block
    free(heap_, blocks[9]);
    EXPECT_EQ(first->place, Place::current);
    EXPECT_EQ(superblock_of(blocks[8])->place, Place::partial);
    EXPECT_EQ(heap_.try_malloc_small(8_KiB), blocks[0]);
    expect_accounts(heap_);

    free(heaps_[1], blocks[2]); // others' frees are blocks too
    free(heap_, blocks[16]);
    free(heap_, blocks[17]);
    EXPECT_EQ(first->place, Place::current);
    EXPECT_EQ(third->place, Place::partial);
    expect_accounts(heap_);
}

/// A heap says that it holds too much (Overdraft) although it said so before, and was quiet since.
class HeapThatHoldsTooMuch : public ThreadHeapTest {
protected:
    bool is_listed() { return heap_.inbox().wanted.load(); }
    void forget_list() {
        while (global_->notices().wanted_visits().take() != nullptr) {
        }
    }

    std::vector<void *> of_class(unsigned c, std::size_t count) {
        std::vector<void *> blocks(count);
        for (void *&p : blocks) {
            p = heap_.malloc_class(c);
        }
        return blocks;
    }

    /// One block of 20 stays in 400 KiB; those that stay.
    std::vector<void *> hold_too_much() {
        std::vector<void *> live;
        for (void *const p : of_class(Classes::class_of(64), 400_KiB / 64)) {
            if (live.size() * 20 <= freed_++) {
                live.push_back(p);
            } else {
                free(heap_, p);
            }
        }
        EXPECT_TRUE(is_listed());
        return live;
    }
    std::size_t freed_ = 0;

    static constexpr unsigned longest = Classes::count - 1;
};

TEST_F(HeapThatHoldsTooMuch, SaysSoToItsNextThread) {
    const std::vector<void *> live = hold_too_much();
    heap_.hand_over();
    for (void *const p : live) {
        free(heaps_[1], p);
    }
    forget_list(); // who would grow finds it idle
    ASSERT_FALSE(is_listed());
    const std::vector<void *> blocks = of_class(longest, 8);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
        free(heap_, blocks[i]);
    }
    EXPECT_TRUE(is_listed()) << heap_.holdings().overdraft();
}

TEST_F(HeapThatHoldsTooMuch, SaysSoAfterItHasVisitedItself) {
    const std::vector<void *> blocks = of_class(longest, 8);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
        free(heap_, blocks[i]);
    }
    {
        Visit<Heap> visit(heap_);
        ASSERT_TRUE(visit);
        visit.settle();
    }
    forget_list();
    free(heap_, blocks[0]);
    ASSERT_FALSE(is_listed());
    heap_.inbox().asked.store(true);                     // a visitor has met the owner inside
    ASSERT_NE(heap_.malloc_class(longest - 1), nullptr); // which visits itself, then takes a superblock
    ASSERT_NE(heap_.malloc_class(1), nullptr);           // and settles
    EXPECT_TRUE(is_listed()) << heap_.holdings().overdraft();
}

TEST_F(HeapThatHoldsTooMuch, SaysSoInTheChildOfAFork) {
    hold_too_much();
    heap_.holdings().forget_notices();
    forget_list();
    ASSERT_FALSE(is_listed());
    ASSERT_NE(heap_.malloc_class(1), nullptr);
    EXPECT_TRUE(is_listed()) << heap_.holdings().overdraft();
}

TEST_F(ThreadHeapTest, ALookSeesInWhichOrderBlocksAreFreed) {
    const unsigned c = Classes::class_of(64);
    std::vector<void *> blocks;
    for (std::size_t bytes = 0; bytes < 3 * slot_size; bytes += 64) {
        blocks.push_back(heap_.malloc_class(c));
    }
    OwnerLine *const s = superblock_of(blocks[1000]);
    while (superblock_of(blocks.back()) != s) { // as destructors run: the last one first
        free(heap_, blocks.back());
        blocks.pop_back();
    }
    ASSERT_EQ(s->place, Place::full);
    ASSERT_EQ(s->prefetch_offset, 0);
    while (s->place == Place::full) {
        free(heap_, blocks.back());
        blocks.pop_back();
    }
    EXPECT_EQ(s->prefetch_offset, -256);
    while (s->place != Place::current) {
        blocks.push_back(heap_.malloc_class(c));
    }
    EXPECT_EQ(s->prefetch_offset, 0) << "the next ones may be freed in another order";
    for (void *const p : blocks) {
        free(heap_, p);
    }
    heap_.hand_over();
}

TEST_F(ThreadHeapTest, AnEmptySuperblockServesAnotherClass) {
    std::vector<void *> blocks;
    for (int i = 0; i < 3000; ++i) {
        blocks.push_back(heap_.malloc_class(1)); // 16 bytes, not quite one superblock
    }
    blocks.push_back(heap_.malloc_class(1));
    for (int i = 0; i < 2000; ++i) {
        blocks.push_back(heap_.malloc_class(1));
    }
    for (void *const p : blocks) {
        free(heap_, p);
    }
    const std::size_t fresh = global_->maker().made();
    ASSERT_NE(heap_.holdings().places().empty(), nullptr);
    EXPECT_NE(heap_.malloc_class(Classes::class_of(400)), nullptr);
    EXPECT_EQ(global_->maker().made(), fresh);
    expect_accounts(heap_);
}

TEST_F(ThreadHeapTest, ASuperblockThatOthersHaveEmptiedServesItsOwnClassAndAnotherOne) {
    const unsigned c = Classes::class_of(48);
    for (const unsigned wanted : {c, Classes::class_of(400)}) {
        std::vector<void *> blocks;
        do {
            blocks.push_back(heap_.malloc_class(c));
        } while (superblock_of(blocks.back()) == superblock_of(blocks.front()));
        OwnerLine *const first = superblock_of(blocks.front());
        void *const last = blocks.back();
        blocks.pop_back();
        for (void *const p : blocks) {
            free(heaps_[1], p);
        }
        const std::size_t fresh = global_->maker().made();
        std::vector<void *> rest{last};
        void *p = heap_.malloc_class(wanted);
        for (; superblock_of(p) == superblock_of(last); p = heap_.malloc_class(wanted)) {
            rest.push_back(p);
        }
        EXPECT_EQ(superblock_of(p), first);
        EXPECT_EQ(first->size_class, wanted);
        EXPECT_FALSE(superblock::has_remote_frees(first)) << "they are blocks of before it was cut anew";
        EXPECT_EQ(address_of(p), memory_of(first));
        for (std::uintptr_t next = address_of(p) + Classes::size_of(wanted);
             next + Classes::size_of(wanted) <= memory_of(first) + slot_size;
             next += Classes::size_of(wanted)) {
            ASSERT_EQ(address_of(heap_.malloc_class(wanted)), next) << "each block once, in order of address";
        }
        EXPECT_EQ(global_->maker().made(), fresh);
        expect_accounts(heap_);
        heap_.hand_over();
    }
}

TEST_F(ThreadHeapTest, ABurstGoesBackAsItIsFreed) {
    for (const unsigned c : {0u, 3u, Classes::class_of(1_KiB), Classes::class_of(10_KiB)}) {
        std::vector<void *> blocks;
        for (std::size_t bytes = 0; bytes < 16_MiB; bytes += Classes::size_of(c)) {
            blocks.push_back(heap_.malloc_class(c));
        }
        EXPECT_GE(heap_.holdings().held(), 16_MiB);
        while (!blocks.empty()) {
            free(heap_, blocks.back());
            blocks.pop_back();
        }
        EXPECT_LE(heap_.holdings().held(),
                  Discipline::slack + 2 * Global::Maker::slots_of_class(c) * slot_size);
        expect_accounts(heap_);
    }
}

/// Only then is there a point in asking whether much lies free.
TEST_F(ThreadHeapTest, ALookTellsWhetherAnythingWasGivenSinceTheLast) {
    const unsigned c = Classes::class_of(64);
    void *const live = heap_.malloc_class(c);
    OwnerLine *const s = superblock_of(live);
    EXPECT_TRUE(heap_.check(s)) << "nobody knows that the thread is there";
    EXPECT_TRUE(heap_.attendance.take_missed());
    EXPECT_FALSE(heap_.check(s));
    std::vector<void *> blocks;
    for (std::size_t bytes = 0; bytes < 1_MiB; bytes += 64) {
        blocks.push_back(heap_.malloc_class(c));
    }
    bool any = false;
    for (void *const p : blocks) {
        if (heap_.free_local(superblock_of(p), address_of(p))) {
            any |= heap_.check(superblock_of(p));
        }
    }
    EXPECT_TRUE(any);
    heap_.give_empty();
    EXPECT_TRUE(heap_.check(s)) << "given without a look";
    EXPECT_FALSE(heap_.check(s));
    free(heap_, live);
    heap_.hand_over();
}

/// Where few share the slack, the blocks are all in the list at once; where very many do, what is not carved can be
/// given back.
TEST_F(ThreadHeapTest, AnEmptySuperblockInOrderKeepsItsListUnlessManyShareTheSlack) {
    const unsigned c = Classes::class_of(64);
    for (const bool many : {false, true}) {
        std::vector<void *> blocks;
        for (std::size_t bytes = 0; bytes < 4_MiB; bytes += 64) {
            blocks.push_back(heap_.malloc_class(c));
        }
        for (void *const p : blocks) {
            free(heap_, p);
        }
        heap_.give_empty();
        for (int i = 0; many && i < 10000; ++i) {
            global_->stock().heaps().opened();
        }
        void *const first = heap_.malloc_class(c);
        void *const second = heap_.malloc_class(c);
        const OwnerLine *const s = superblock_of(first);
        EXPECT_EQ(superblock_of(second), s);
        EXPECT_EQ(s->carved == shared_of(s)->capacity, !many);
        free(heap_, first);
        free(heap_, second);
    }
    heap_.hand_over();
}

/// The worst case of the discipline: every superblock keeps a block or two. They stay while nobody needs the memory.
TEST_F(ThreadHeapTest, ScatteredSurvivorsDoNotKeepTheRestFromOthers) {
    const unsigned c = Classes::class_of(64);
    std::vector<void *> blocks;
    for (int i = 0; i < 100'000; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    std::size_t live = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i % 700 == 0) {
            ++live;
        } else {
            free(heap_, blocks[i]);
        }
    }
    EXPECT_EQ(global_->counters().to_global, 0u);
    expect_accounts(heap_);
    EXPECT_EQ(heaps_[1].malloc_class(c, Growth::after_visits), nullptr);
    EXPECT_EQ(global_->notices().wanted_visits().take(), &heap_.inbox());
    visit_to_settle(heap_);
    EXPECT_LE(heap_.holdings().held(), live * 64 + Discipline::slack + slot_size);
    EXPECT_GT(global_->counters().to_global, 50u);
    expect_accounts(heap_);
    expect_invariant(heap_);
    const std::size_t resident = runs_.resident_bytes();
    for (int i = 0; i < 50'000; ++i) {
        ASSERT_NE(heaps_[1].malloc_class(c, Growth::after_visits), nullptr);
    }
    EXPECT_EQ(runs_.resident_bytes(), resident);
}

/// What others free comes back to the owner at its next slow path: a producer does not grow.
TEST_F(ThreadHeapTest, AProducerWhoseBlocksOthersFreeStaysSmall) {
    Heap &consumer = heaps_[1];
    for (const unsigned c : {0u, 3u, Classes::class_of(4_KiB)}) {
        std::size_t most = 0;
        for (int round = 0; round < 200; ++round) {
            std::array<void *, 50> batch{};
            for (void *&p : batch) {
                p = heap_.malloc_class(c);
                ASSERT_NE(p, nullptr);
            }
            for (void *const p : batch) {
                free(consumer, p);
            }
            most = std::max(most, heap_.holdings().held());
        }
        EXPECT_LE(most, 2 * Discipline::slack + 50 * Classes::size_of(c) * 4 / 3);
        expect_accounts(heap_);
        EXPECT_EQ(owned(consumer), 0u);
    }
}

/// Memory grows where superblocks are cut, though none is taken: what lies free pays for it.
TEST_F(ThreadHeapTest, WhatIsTouchedByCuttingIsPaid) {
    const unsigned last = Classes::class_of(8_KiB);
    std::vector<void *> blocks;
    for (unsigned c = 0; c <= last; ++c) { // of new superblocks, a page or two
        blocks.push_back(heap_.malloc_class(c));
    }
    std::vector<void *> others;
    for (std::size_t bytes = 0; bytes < 12_MiB; bytes += 64) {
        others.push_back(heaps_[1].malloc_class(Classes::class_of(64)));
    }
    for (void *const p : others) {
        free(heaps_[1], p);
    }
    const std::size_t lay_free = global_->free_bytes();
    const std::size_t held = heap_.holdings().held();
    ASSERT_GT(lay_free, 10_MiB);
    for (unsigned c = 0; c <= last; ++c) { // the rest of them
        const OwnerLine *const s = superblock_of(blocks[c]);
        while (s->live() < shared_of(s)->capacity) {
            blocks.push_back(heap_.malloc_class(c));
            ASSERT_EQ(superblock_of(blocks.back()), s);
        }
    }
    const std::size_t touched = heap_.holdings().held() - held;
    ASSERT_GT(touched, 2_MiB);
    EXPECT_LE(global_->free_bytes(), lay_free - touched + slot_size);
    for (void *const p : blocks) {
        free(heap_, p);
    }
    heap_.hand_over();
    heaps_[1].hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

/// A look at all bins costs as much as many slow paths.
TEST_F(ThreadHeapTest, TheOwnerThinsItsBinsOnceInManySlowPaths) {
    void *const live = heap_.malloc_class(Classes::class_of(64));
    std::vector<void *> blocks;
    for (const std::size_t size : {64_KiB, 56_KiB, 48_KiB, 40_KiB}) {
        for (int i = 0; i < 8; ++i) {
            blocks.push_back(heap_.malloc_class(Classes::class_of(size)));
        }
    }
    for (void *const p : blocks) {
        free(heap_, p);
    }
    const std::size_t step = Discipline::bins_step;
    EXPECT_LE(heap_.bins().slack().free_bytes, Discipline::bins_slack + 4 * step)
        << "several steps were enough";
    for (unsigned i = 0; i < Discipline::bins_patience; ++i) {
        heap_.check(superblock_of(live));
    }
    EXPECT_LE(heap_.bins().slack().free_bytes, Discipline::bins_slack + step);
    EXPECT_NE(heap_.bins().slack().free_bytes, 0u) << "no more than has to be";
    free(heap_, live);
}

/// What a large heap has in its bins comes and goes.
TEST_F(ThreadHeapTest, TheOwnerOfALargeHeapThinsItsBinsWhenItIsEmptierByAnEighth) {
    std::vector<void *> live;
    while (heap_.holdings().used() < 12_MiB) {
        live.push_back(heap_.malloc_class(Classes::class_of(8_KiB)));
        heap_.holdings().account(superblock_of(live.back()));
    }
    // A superblock's worth of each class, allocated and freed, and then as many slow paths as a look needs.
    const auto leave_in_bins = [&](unsigned first, unsigned behind) {
        std::vector<void *> blocks;
        for (unsigned c = first; c < behind; ++c) {
            for (unsigned left = 1; left != 0; --left) {
                blocks.push_back(heap_.malloc_class(c));
                const OwnerLine *const s = superblock_of(blocks.back());
                left = shared_of(s)->capacity - s->live() + 1;
            }
        }
        for (void *const p : blocks) {
            free(heap_, p);
        }
        for (unsigned i = 0; i < Discipline::bins_patience; ++i) {
            heap_.check(superblock_of(live.front()));
        }
    };
    const unsigned end = Classes::count;
    leave_in_bins(end - 7, end);
    ASSERT_GT(heap_.holdings().overdraft(), Discipline::bins_step);
    EXPECT_GT(heap_.bins().slack().free_bytes, 3_MiB);
    leave_in_bins(end - 24, end - 7); // as much again, and the bins are thinned on the way
    EXPECT_LT(heap_.bins().slack().free_bytes, 4_MiB);
    for (void *const p : live) {
        free(heap_, p);
    }
}

TEST_F(ThreadHeapTest, HandingOverLeavesNothing) {
    std::vector<void *> blocks;
    for (unsigned c = 0; c < Classes::count; ++c) {
        for (int i = 0; i < 30; ++i) {
            blocks.push_back(heap_.malloc_class(c));
        }
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        free(i % 4 == 0 ? heap_ : heaps_[1], blocks[i]);
    }
    heap_.hand_over();
    EXPECT_EQ(owned(heap_), 0u);
    EXPECT_EQ(heap_.holdings().used(), 0u);
    EXPECT_EQ(heap_.holdings().held(), 0u);
    EXPECT_EQ(heap_.holdings().places().any(), nullptr);
    EXPECT_TRUE(heap_.inbox().empty());
    for (std::size_t size = 0; size <= Classes::table_limit; size += 8) {
        EXPECT_EQ(heap_.try_malloc_small(size), nullptr) << "nor in a bin";
    }
    // Its blocks can still be freed, and with the last one everything is a free run.
    for (std::size_t i = 1; i < blocks.size(); i += 2) {
        free(heaps_[2], blocks[i]);
    }
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(ThreadHeapTest, AnEmptyHeapHandsOverNothing) {
    heap_.hand_over();
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
    EXPECT_FALSE(heap_.give_empty());
}

TEST_F(ThreadHeapTest, EmptySuperblocksAreGivenUpWhenAsked) {
    std::vector<void *> blocks;
    for (int i = 0; i < 5000; ++i) {
        blocks.push_back(heap_.malloc_class(1));
    }
    for (void *const p : blocks) {
        free(heap_, p);
    }
    ASSERT_NE(heap_.holdings().places().empty(), nullptr);
    EXPECT_TRUE(heap_.give_empty());
    EXPECT_EQ(heap_.holdings().places().empty(), nullptr);
    EXPECT_EQ(owned(heap_), 0u) << "also the one in the bin";
    EXPECT_FALSE(heap_.give_empty());
    expect_accounts(heap_);
}

TEST_F(ThreadHeapTest, WhatOthersFreedIsTakenBeforeMoreMemory) {
    const unsigned c = Classes::class_of(48);
    std::vector<void *> blocks;
    for (std::size_t i = 0; i < slot_size / 48; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    const std::size_t fresh = global_->maker().made();
    free(heaps_[1], blocks[7]); // one alone: nobody is told
    EXPECT_EQ(heap_.malloc_class(c), blocks[7]);
    EXPECT_EQ(global_->maker().made(), fresh);
    EXPECT_NE(heap_.malloc_class(c), nullptr);
    EXPECT_EQ(global_->maker().made(), fresh + 1);
}

/// Frees that nobody has counted yet, by the owner and by another thread, of superblocks that count as full.
TEST_F(ThreadHeapTest, UncountedFreesAreTakenBeforeMoreMemory) {
    const unsigned c = Classes::class_of(1_KiB); // 64 to a superblock
    std::vector<void *> blocks;
    for (int i = 0; i < 6 * 64; ++i) {
        blocks.push_back(heap_.malloc_class(c));
    }
    const std::size_t fresh = global_->maker().made();
    free(heap_, blocks[64]);
    free(heaps_[1], blocks[3 * 64 + 1]);
    ASSERT_EQ(superblock_of(blocks[64])->place, Place::full);
    ASSERT_EQ(superblock_of(blocks[3 * 64])->place, Place::full);
    EXPECT_EQ(heap_.malloc_class(c), blocks[64]);
    EXPECT_EQ(heap_.malloc_class(c), blocks[3 * 64 + 1]);
    EXPECT_EQ(global_->maker().made(), fresh);
    expect_accounts(heap_);

    // One of each of six.
    std::vector<OwnerLine *> waiting;
    for (int i = 0; i < 6; ++i) {
        waiting.push_back(superblock_of(blocks[static_cast<std::size_t>(i) * 64]));
        free(heap_, blocks[static_cast<std::size_t>(i) * 64]);
    }
    unsigned served = 0;
    while (global_->maker().made() == fresh) {
        OwnerLine *const s = superblock_of(heap_.malloc_class(c));
        served += std::count(waiting.begin(), waiting.end(), s) != 0;
    }
    EXPECT_EQ(served, 6u);
    expect_accounts(heap_);
}

TEST_F(ThreadHeapTest, OutOfMemoryIsAnAnswer) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space without limit";
    }
    EXPECT_EXIT(
        {
            const unsigned c = Classes::class_of(48);
            std::vector<void *> blocks;
            blocks.reserve(400'000);
            test::limit_address_space(16_MiB);
            for (void *p = heap_.malloc_class(c); p != nullptr; p = heap_.malloc_class(c)) {
                blocks.push_back(p);
            }
            EXPECT_GE(blocks.size() * 48, 10_MiB) << "most of it was to be had";
            EXPECT_EQ(heap_.malloc_class(c), nullptr);
            EXPECT_EQ(heap_.malloc_class(Classes::class_of(60_KiB)), nullptr);
            // One block, of a superblock taken for full, freed by the owner or by another.
            for (Heap &other : {std::ref(heap_), std::ref(heaps_[1])}) {
                free(other, blocks[20]);
                EXPECT_EQ(heap_.malloc_class(c), blocks[20]);
                EXPECT_EQ(heap_.malloc_class(c), nullptr);
            }
            for (std::size_t i = 0; i < blocks.size(); i += 2) {
                free(heap_, blocks[i]);
            }
            EXPECT_NE(heap_.malloc_class(c), nullptr);
            expect_accounts(heap_);
            _exit(HasFailure());
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(ThreadHeapTest, AfterAForkItIsAsNew) {
    for (unsigned c = 0; c < Classes::count; ++c) {
        heap_.malloc_class(c);
    }
    heap_.reset_after_fork();
    EXPECT_EQ(heap_.holdings().held(), 0u);
    EXPECT_EQ(heap_.try_malloc_small(48), nullptr);
    EXPECT_NE(heap_.malloc_class(3), nullptr);
}

TEST_F(ThreadHeapTest, RandomSequencesKeepContentsAccountsAndTheInvariant) {
    struct Block {
        unsigned size_class;
        unsigned char mark;
    };
    std::map<unsigned char *, Block> live;
    std::mt19937_64 random(10);
    unsigned favourite = 0;
    for (int step = 0; step < 60'000; ++step) {
        if (step % 3000 == 0) {
            favourite = static_cast<unsigned>(random() % Classes::count); // the program shifts
        }
        Heap &heap = heaps_[random() % heaps_.size()];
        const bool growing = step / 5000 % 2 == 0;
        if (random() % 10 < (growing ? 6 : 4)) {
            const unsigned c =
                random() % 4 != 0 ? favourite : static_cast<unsigned>(random() % Classes::count);
            auto *const p = static_cast<unsigned char *>(heap.malloc_class(c));
            ASSERT_NE(p, nullptr);
            const Block block{c, static_cast<unsigned char>(random())};
            std::memset(p, block.mark, std::min<std::size_t>(Classes::size_of(c), 64));
            p[Classes::size_of(c) - 1] = block.mark;
            const auto [at, is_new] = live.emplace(p, block);
            ASSERT_TRUE(is_new) << "handed out twice";
            if (const auto next = std::next(at); next != live.end()) {
                ASSERT_LE(p + Classes::size_of(c), next->first);
            }
            if (at != live.begin()) {
                const auto &[before, what] = *std::prev(at);
                ASSERT_LE(before + Classes::size_of(what.size_class), p);
            }
        } else if (!live.empty()) {
            auto at = live.lower_bound(reinterpret_cast<unsigned char *>(
                address_of(live.begin()->first) +
                random() % (address_of(live.rbegin()->first) - address_of(live.begin()->first) + 1)));
            const auto [p, block] = *at;
            for (std::size_t i = 0; i < std::min<std::size_t>(Classes::size_of(block.size_class), 64); ++i) {
                ASSERT_EQ(p[i], block.mark);
            }
            ASSERT_EQ(p[Classes::size_of(block.size_class) - 1], block.mark);
            live.erase(at);
            free(heap, p);
        }
        if (step % 5000 == 4999) {
            heap.hand_over();
            ASSERT_EQ(heap.holdings().held(), heap.holdings().used()) << "what stays is full";
            for (unsigned c = 0; c < Classes::count; ++c) {
                ASSERT_TRUE(heap.bins().is_empty(c));
            }
        }
        if (step % 50 == 0) {
            for (Heap &one : heaps_) {
                expect_accounts(one);
            }
        }
        ASSERT_FALSE(HasFailure()) << "at step " << step;
    }
    for (const auto &block : live) {
        free(heap_, block.first);
    }
    for (Heap &heap : heaps_) {
        heap.hand_over();
    }
    EXPECT_EQ(superblocks(), 0u);
}

} // namespace
