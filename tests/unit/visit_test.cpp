// SPDX-License-Identifier: MIT
//
// Visit: what another thread takes from a heap whose own thread does not come by, and what it leaves.
#include "thread_heap_fixture.hpp"

#include <cairn/thread/visit.hpp>

using namespace cairn;
using namespace cairn::test;

namespace {

class VisitTest : public ThreadHeaps {
protected:
    static constexpr unsigned class_of_64 = Classes::class_of(64);

    std::vector<void *> blocks_of(unsigned c, std::size_t bytes) {
        std::vector<void *> blocks(bytes / Classes::size_of(c));
        for (void *&p : blocks) {
            p = heap_.malloc_class(c);
            EXPECT_NE(p, nullptr);
        }
        return blocks;
    }

    /// Another thread's frees, of which only notices come to the heap.
    void free_elsewhere(const std::vector<void *> &blocks) {
        for (void *const p : blocks) {
            free(heaps_[1], p);
        }
    }

    std::vector<void *> some_of_each_class() {
        std::vector<void *> blocks;
        for (unsigned c = 0; c < Classes::count; ++c) {
            for (void *const p : blocks_of(c, 2 * Classes::size_of(c) + 4_KiB)) {
                blocks.push_back(p);
            }
        }
        return blocks;
    }

    void free_used_memory() {
        for (void *const p : blocks_of(Classes::class_of(8_KiB), 12_MiB)) {
            free(heap_, p);
        }
        heap_.hand_over();
        global_->make_room(SIZE_MAX);
    }
    std::vector<OwnerLine *> lean_bins() {
        std::vector<OwnerLine *> lean;
        for (unsigned c = 0; c < Classes::count; ++c) {
            OwnerLine *const s = heap_.bins().at(c);
            if (s->touched > s->carved * Classes::size_of(c) + 32_KiB) {
                lean.push_back(s);
            }
        }
        return lean;
    }
    static unsigned class_of(void *p) { return superblock_of(p)->size_class; }

    bool settle() {
        Visit<Heap> visit(heap_);
        if (visit) {
            visit.settle();
        }
        return static_cast<bool>(visit);
    }
    bool retire() {
        Visit<Heap> visit(heap_);
        if (visit) {
            visit.retire();
        }
        return static_cast<bool>(visit);
    }
    std::size_t free_bytes() { return heap_.holdings().held() - heap_.holdings().used(); }
};

TEST_F(VisitTest, WhatOthersFreeComesDownThoughTheOwnerSleeps) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 8_MiB);
    free_elsewhere(blocks);
    EXPECT_GE(heap_.holdings().held(), 8_MiB) << "its owner does not know yet";
    ASSERT_TRUE(settle());
    expect_invariant(heap_);
    expect_accounts(heap_);
    EXPECT_LE(heap_.holdings().held(), Discipline::slack + slot_size);
    EXPECT_TRUE(heap_.inbox().empty());
    // The owner goes on with what is left.
    for (void *const p : blocks_of(class_of_64, 1_MiB)) {
        free(heap_, p);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, WhatWasToldOfAndIsAmongTheEmptiestIsTakenOnce) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB);
    std::vector<void *> left;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        i % 8 == 0 ? left.push_back(blocks[i]) : free(heap_, blocks[i]);
    }
    ASSERT_NE(heap_.holdings().places().emptiest(2), nullptr);
    free_elsewhere(left);
    ASSERT_FALSE(heap_.inbox().empty());
    ASSERT_TRUE(settle());
    expect_invariant(heap_);
    expect_accounts(heap_);
    EXPECT_TRUE(heap_.inbox().empty());
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, SuperblocksThatAreFullEnoughStay) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 8_MiB);
    std::vector<void *> some;
    for (std::size_t i = 0; i < blocks.size(); i += 8) {
        some.push_back(blocks[i]);
    }
    free_elsewhere(some); // an eighth of each: the invariant holds
    const std::size_t before = owned(heap_);
    ASSERT_TRUE(settle());
    EXPECT_EQ(owned(heap_), before);
    expect_accounts(heap_);
    heap_.hand_over();
}

TEST_F(VisitTest, NobodyComesInWhileTheOwnerIsInside) {
    free_elsewhere(blocks_of(class_of_64, 2_MiB));
    const std::size_t before = owned(heap_);
    heap_.presence().enter();
    EXPECT_FALSE(settle());
    EXPECT_FALSE(retire());
    heap_.presence().leave();
    EXPECT_EQ(owned(heap_), before);
    EXPECT_TRUE(settle());
    EXPECT_LT(owned(heap_), before);
}

TEST_F(VisitTest, ASuperblockThatTheOwnerIsUsingStays) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB);
    free_elsewhere(blocks);
    OwnerLine *const used = superblock_of(blocks[0]);
    heap_.presence().begin(used);
    ASSERT_TRUE(settle());
    EXPECT_TRUE(owns(heap_, used));
    EXPECT_FALSE(heap_.inbox().empty()) << "its notice is still there";
    EXPECT_EQ(heap_.inbox().pending_bytes(), span_of(used)) << "and what others have freed is still owed";
    EXPECT_EQ(heap_.inbox().freed(), 0u) << "though nobody is to try again for that alone";
    EXPECT_LE(owned(heap_), 4u);
    heap_.presence().end();
    ASSERT_TRUE(settle());
    EXPECT_EQ(heap_.inbox().pending_bytes(), 0u);
    expect_accounts(heap_);
    expect_invariant(heap_);
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, BinsWithLiveBlocksStayWhereOthersAreEnough) {
    void *const live = heap_.malloc_class(0);
    for (void *const p : some_of_each_class()) {
        free(heap_, p);
    }
    ASSERT_GT(free_bytes(), Discipline::bins_slack + Discipline::slack);
    ASSERT_TRUE(settle());
    EXPECT_LE(free_bytes(), Discipline::slack);
    EXPECT_FALSE(heap_.bins().is_empty(0));
    free(heap_, live);
}

TEST_F(VisitTest, BinsWithoutLiveBlocksAreEmptied) {
    for (void *const p : some_of_each_class()) {
        free(heap_, p);
    }
    ASSERT_GT(free_bytes(), Discipline::slack);
    ASSERT_TRUE(settle());
    EXPECT_LE(free_bytes(), Discipline::slack);
    expect_accounts(heap_);
    EXPECT_NE(heap_.malloc_class(0), nullptr); // and goes on
}

/// Memory that was used before, of which the bins' superblocks have cut little: nobody else can use it.
TEST_F(VisitTest, WhatBinsHaveNotCutGoesBackToTheSystem) {
    free_used_memory();
    std::vector<void *> blocks = some_of_each_class();
    std::vector<OwnerLine *> lean = lean_bins();
    ASSERT_GT(lean.size(), 10u);
    const std::size_t held = heap_.holdings().held();
    for (OwnerLine *const s : lean) { // as an earlier visitor, but for what is being cut since
        EXPECT_TRUE(superblock::take_carved_flag(s));
        EXPECT_FALSE(superblock::take_carved_flag(s));
    }
    OwnerLine *const cutting = lean.front();
    lean.erase(lean.begin());
    const std::uint32_t extent = cutting->touched;
    for (const std::uint32_t before = cutting->carved; cutting->carved == before;) {
        blocks.push_back(heap_.malloc_class(cutting->size_class));
        ASSERT_NE(blocks.back(), nullptr);
    }
    ASSERT_TRUE(settle());
    for (const OwnerLine *const s : lean) {
        EXPECT_LT(s->touched, s->carved * Classes::size_of(s->size_class) + superblock::least_uncarved);
    }
    EXPECT_LT(heap_.holdings().held(), held - lean.size() * 32_KiB);
    EXPECT_EQ(cutting->touched, extent) << "it would be touched again soon";
    expect_accounts(heap_);
    for (unsigned c = 0; c < Classes::count; ++c) { // and it is there again when it is wanted
        for (void *const p : blocks_of(c, span_of(heap_.bins().at(c)))) {
            free(heap_, p);
        }
    }
    for (void *const p : blocks) {
        free(heap_, p);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, WhoStaysAwayCutsNothingSoon) {
    free_used_memory();
    const std::vector<void *> blocks = some_of_each_class();
    const std::vector<OwnerLine *> lean = lean_bins();
    ASSERT_GT(lean.size(), 10u);
    ASSERT_TRUE(retire());
    for (const OwnerLine *const s : lean) {
        EXPECT_LT(s->touched, s->carved * Classes::size_of(s->size_class) + superblock::least_uncarved);
    }
    expect_accounts(heap_);
    for (void *const p : blocks) {
        free(heap_, p);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

/// A visitor who meets the owner inside asks it to do the work.
TEST_F(VisitTest, AnOwnerThatWasAskedGivesUpWhatAVisitorWouldHaveTaken) {
    std::vector<void *> kept;
    for (void *const p : blocks_of(class_of_64, 8_MiB)) {
        (kept.size() % 2 == 0 ? free(heap_, p) : void());
        kept.push_back(p);
    }
    for (void *const p : some_of_each_class()) {
        free(heap_, p);
    }
    const std::size_t before = owned(heap_);
    heap_.check(superblock_of(kept[1]));
    ASSERT_GE(owned(heap_) + 1, before) << "by itself it keeps what has live blocks";
    heap_.inbox().asked.store(true);
    heap_.check(superblock_of(kept[1]));
    EXPECT_FALSE(heap_.inbox().asked.load());
    expect_invariant(heap_);
    expect_accounts(heap_);
    EXPECT_LT(owned(heap_), before / 4);
    for (std::size_t i = 1; i < kept.size(); i += 2) {
        free(heap_, kept[i]);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

/// A thousand heaps would keep 125 MiB.
TEST_F(VisitTest, WhereManyHeapsShareTheSlackOneThatRetiresKeepsItsShare) {
    auto &heaps = global_->stock().heaps();
    while (heap_.holdings().share(Discipline::slack) > Discipline::slack / 8) {
        heaps.opened();
    }
    for (void *const p : some_of_each_class()) {
        free(heap_, p);
    }
    ASSERT_TRUE(retire());
    EXPECT_LE(free_bytes(), Discipline::slack / 8);
    expect_accounts(heap_);
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, AHeapThatRetiresKeepsTheSlackAlone) {
    std::vector<void *> kept;
    for (void *const p : some_of_each_class()) {
        if (kept.empty() || class_of(p) != class_of(kept.back())) {
            kept.push_back(p);
        } else {
            free(heap_, p);
        }
    }
    ASSERT_GT(free_bytes(), Discipline::slack);
    ASSERT_TRUE(settle());
    ASSERT_GT(free_bytes(), Discipline::slack) << "in bins, whose cache lines others would come to share";
    ASSERT_TRUE(retire());
    EXPECT_LE(free_bytes(), Discipline::slack);
    expect_accounts(heap_);
    for (unsigned c = 0; c < Classes::count; ++c) {
        EXPECT_TRUE(heap_.bins().is_empty(c));
        void *const p = heap_.malloc_class(c); // and goes on
        ASSERT_NE(p, nullptr);
        free(heap_, p);
    }
    expect_accounts(heap_);
    for (void *const p : kept) {
        free(heap_, p);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, AHeapThatHoldsMuchIsVisitedBeforeMemoryGrows) {
    const std::vector<void *> blocks = some_of_each_class();
    for (void *const p : blocks) {
        free(heap_, p);
    }
    EXPECT_TRUE(heap_.inbox().overdrawn.load());
    // Another heap takes what lies free, until only memory is left that nothing has used yet: the visit comes first.
    constexpr unsigned c = Classes::class_of(8_KiB);
    std::size_t taken = 0;
    while (heaps_[1].malloc_class(c, Growth::after_visits) != nullptr) {
        ASSERT_LT(++taken, blocks.size());
    }
    EXPECT_EQ(global_->notices().wanted_visits().take(), &heap_.inbox());
    ASSERT_TRUE(settle());
    EXPECT_FALSE(heap_.inbox().overdrawn.load());
    EXPECT_NE(heaps_[1].malloc_class(c, Growth::after_visits), nullptr);
    EXPECT_TRUE(global_->notices().wanted_visits().empty()) << "what is left was not seen to grow";
}

TEST_F(VisitTest, AVisitIsWantedOnce) {
    WantedVisits wanted;
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(wanted.take(), nullptr);
        wanted.add(heap_.inbox());
        wanted.add(heaps_[1].inbox());
        wanted.add(heap_.inbox());
        EXPECT_FALSE(wanted.empty());
        EXPECT_EQ(wanted.take(), &heaps_[1].inbox());
        EXPECT_EQ(wanted.take(), &heap_.inbox());
    }
    EXPECT_TRUE(wanted.empty());
}

/// And no other one, of which it may have dozens when it is stopped there.
TEST_F(VisitTest, AMallocThatHasBegunKeepsItsBin) {
    std::vector<void *> blocks = blocks_of(class_of_64, 4_KiB);
    for (void *const p : blocks) {
        free(heap_, p);
    }
    OwnerLine *const current = heap_.bins().at(class_of_64);
    free(heap_, heap_.malloc_class(0));
    ASSERT_FALSE(heap_.bins().is_empty(0));
    heap_.presence().begin(class_of_64);
    ASSERT_TRUE(retire());
    EXPECT_TRUE(heap_.bins().is_empty(0));
    EXPECT_EQ(heap_.bins().at(class_of_64), current);
    EXPECT_TRUE(owns(heap_, current));
    EXPECT_EQ(current->place, Place::current);
    heap_.presence().end();
    ASSERT_TRUE(retire());
    EXPECT_TRUE(heap_.bins().is_empty(class_of_64));
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

/// Fast paths do not end their sections: what the last one was on stays until the next one.
TEST_F(VisitTest, WhatTheLastFastPathWasOnStays) {
    std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB);
    free(heap_, heap_.malloc_class(0));
    blocks.push_back(heap_.malloc_class(class_of_64));
    void *const last = heap_.try_malloc_small(64);
    ASSERT_NE(last, nullptr);
    OwnerLine *const used = heap_.bins().at(class_of_64);
    free_elsewhere(blocks);
    ASSERT_TRUE(retire());
    EXPECT_TRUE(heap_.bins().is_empty(0));
    EXPECT_EQ(heap_.bins().at(class_of_64), used);
    EXPECT_TRUE(owns(heap_, used));
    EXPECT_LE(heap_.holdings().held(), Discipline::slack + slot_size);
    EXPECT_EQ(heap_.try_malloc_small(1), nullptr); // a section on another bin
    ASSERT_TRUE(retire());
    EXPECT_TRUE(heap_.bins().is_empty(class_of_64));
    expect_accounts(heap_);
    expect_invariant(heap_);
    free(heap_, last);
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

/// Medium blocks, of which a third of one superblock and most of another one are free.
class RecentVisitTest : public VisitTest {
protected:
    static constexpr unsigned c_ = Classes::class_of(32_KiB);
    RecentVisitTest() {
        while (blocks_.empty() || superblock_of(blocks_.back()) == superblock_of(blocks_.front())) {
            blocks_.push_back(heap_.malloc_class(c_));
        }
        s_ = superblock_of(blocks_.front());
        for (std::size_t i = 0; i < s_->live() / 3 + 1; ++i) {
            free(heap_, blocks_[i]);
        }
        EXPECT_EQ(s_->place, Place::partial);
        EXPECT_EQ(heap_.holdings().recent().at(c_), s_);
    }
    OwnerLine *s_;
    std::vector<void *> blocks_;
};

TEST_F(RecentVisitTest, WhatLeavesIsNoLongerRecent) {
    ASSERT_TRUE(retire());
    EXPECT_FALSE(owns(heap_, s_));
    EXPECT_EQ(heap_.holdings().recent().at(c_), nullptr);
    void *const p = heaps_[1].malloc_class(c_);
    EXPECT_EQ(superblock_of(p), s_);
    void *const q = heap_.malloc_class(c_);
    EXPECT_NE(superblock_of(q), s_);
}

/// The owner has read which superblock is the recent one, and allocates from it.
TEST_F(RecentVisitTest, AMallocThatHasBegunKeepsIt) {
    heap_.presence().begin(c_);
    for (int visits = 0; visits < 2; ++visits) {
        ASSERT_TRUE(retire());
        EXPECT_TRUE(owns(heap_, s_));
        EXPECT_EQ(s_->place, Place::partial);
        EXPECT_EQ(heap_.holdings().recent().at(c_), nullptr) << "the next malloc goes another way";
    }
    heap_.presence().end();
    ASSERT_TRUE(retire());
    EXPECT_FALSE(owns(heap_, s_));
    expect_accounts(heap_);
}

/// A free that began before the superblock was taken ends while the visiting thread waits for its fence.
TEST_F(RecentVisitTest, AFreeUnderWayShowsItAgain) {
    Taking<Heap> taking(heap_);
    taking.take(s_);
    heap_.holdings().recent().note(s_);
    ASSERT_TRUE(taking.find_owner());
    EXPECT_TRUE(taking.in_use(s_));
    heap_.holdings().own(s_);
}

/// Another one was noted since: whoever allocates takes from that.
TEST_F(RecentVisitTest, ALaterFreeElsewhereEndsTheUse) {
    Taking<Heap> taking(heap_);
    taking.take(s_);
    heap_.presence().begin(c_);
    ASSERT_TRUE(taking.find_owner());
    EXPECT_TRUE(taking.in_use(s_));
    heap_.holdings().recent().note(superblock_of(blocks_.back()));
    EXPECT_FALSE(taking.in_use(s_));
    heap_.presence().end();
    heap_.holdings().own(s_);
}

/// The system has no heavy fence, as is known from some moment on.
class FencedVisitTest : public VisitTest {
protected:
    ~FencedVisitTest() override { set_missing(false); }
    static void set_missing(bool missing) { platform::heavy_fence_missing_ = missing; }

    /// For the fast paths of the heap's thread.
    bool shows(const OwnerLine *s) {
        return shared_of(s)->owner.load() == &heap_ || !heap_.presence().fenced();
    }
    void expect_nothing_shown(const std::vector<void *> &blocks) {
        for (std::size_t size = 8; size <= Classes::table_limit; size += 8) {
            EXPECT_EQ(heap_.try_malloc_small(size), nullptr);
            heap_.presence().end();
        }
        for (unsigned c = 0; c < Classes::count; ++c) {
            EXPECT_EQ(heap_.try_malloc_class(c), nullptr);
        }
        for (void *const p : blocks) {
            EXPECT_FALSE(shows(superblock_of(p)));
        }
    }
};

TEST_F(FencedVisitTest, FastPathsFindNothing) {
    set_missing(true);
    const std::vector<void *> blocks = some_of_each_class();
    EXPECT_TRUE(heap_.presence().fenced());
    expect_nothing_shown(blocks);
    for (void *const p : blocks) {
        EXPECT_TRUE(heap_.owns(superblock_of(p)));
        bool border = false;
        EXPECT_TRUE(heap_.free_inside(superblock_of(p), address_of(p), border));
        if (border) {
            heap_.check(superblock_of(p));
        }
    }
    expect_nothing_shown({});
    expect_accounts(heap_);
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(FencedVisitTest, AHeapHidesWhatItHadInItsNextSlowPath) {
    std::vector<void *> blocks = some_of_each_class();
    const std::vector<OwnerLine *> under_way =
        [&] { // two that have to stay, a notice about them is on its way
            std::vector<OwnerLine *> told;
            for (const unsigned c : {0u, class_of_64, Classes::class_of(9_KiB)}) {
                const std::vector<void *> more =
                    blocks_of(c, global_->maker().span_of_class(c) + Classes::size_of(c));
                free(heap_, more[0]); // the next medium block of the class would be this one
                for (std::size_t i = 1; i < more.size(); ++i) {
                    void *const p = more[i];
                    OwnerLine *const s = superblock_of(p);
                    if (superblock::free_remote(s, address_of(p)).is_notice()) {
                        told.push_back(s);
                    }
                }
            }
            return told;
        }();
    ASSERT_GE(under_way.size(), 3u);
    set_missing(true);
    EXPECT_FALSE(heap_.presence().fenced()) << "its thread was not here";
    blocks.push_back(heap_.malloc_class(class_of_64));
    EXPECT_TRUE(heap_.presence().fenced());
    expect_nothing_shown(blocks);
    for (OwnerLine *const s : under_way) {
        EXPECT_TRUE(owns(heap_, s));
        EXPECT_FALSE(shows(s));
        global_->notice(s, RemoteWord{remote_of(s)->word.load()});
    }
    expect_accounts(heap_);
    ASSERT_TRUE(settle());
    for (void *const p : blocks) {
        free(heap_, p);
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(FencedVisitTest, WhereTheOwnerIsInAShortSectionDoesNotMatter) {
    set_missing(true);
    for (const bool in_malloc : {true, false}) {
        const std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB);
        free_elsewhere(blocks);
        EXPECT_GE(heap_.holdings().held(), 2_MiB) << "its owner does not know yet";
        heap_.presence().enter();
        EXPECT_FALSE(settle());
        heap_.presence().leave();
        heap_.presence().begin(in_malloc ? class_of_64 : address_of(superblock_of(blocks[0])));
        ASSERT_TRUE(retire());
        heap_.presence().end();
        expect_accounts(heap_);
        EXPECT_LE(heap_.holdings().held(), Discipline::slack);
        EXPECT_TRUE(heap_.bins().is_empty(class_of_64));
    }
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, ANoticeUnderWayKeepsItsSuperblock) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB);
    std::vector<OwnerLine *> under_way;
    for (void *const p : blocks) {
        OwnerLine *const s = superblock_of(p);
        if (superblock::free_remote(s, address_of(p)).is_notice()) {
            under_way.push_back(s); // its thread is slow to tell
        }
    }
    ASSERT_TRUE(retire());
    for (OwnerLine *const s : under_way) {
        EXPECT_TRUE(owns(heap_, s));
        global_->notice(s, RemoteWord{remote_of(s)->word.load()});
    }
    expect_accounts(heap_);
    ASSERT_TRUE(retire());
    EXPECT_LE(free_bytes(), Discipline::slack);
    heap_.hand_over();
    EXPECT_EQ(superblocks(), 0u);
}

TEST_F(VisitTest, WhereTheEmptiestHasToStayOthersGo) {
    const std::vector<void *> blocks = blocks_of(class_of_64, 2_MiB + 64); // the last one has the bin
    const std::size_t each = slot_size / 64;
    const auto free_some = [&](std::size_t number, std::size_t count) {
        std::for_each_n(blocks.begin() + static_cast<std::ptrdiff_t>(number * each), count,
                        [&](void *p) { free(heap_, p); });
    };
    free_some(0, 800); // it alone would be enough
    for (const std::size_t other : {1u, 2u, 3u}) {
        free_some(other, 560);
    }
    OwnerLine *const emptiest = superblock_of(blocks[0]);
    bool under_way = false; // its thread is slow to tell
    for (std::size_t i = 800; !under_way; ++i) {
        ASSERT_EQ(superblock_of(blocks[i]), emptiest);
        under_way = superblock::free_remote(emptiest, address_of(blocks[i])).is_notice();
    }
    ASSERT_GT(free_bytes(), Discipline::slack);
    ASSERT_TRUE(retire());
    EXPECT_TRUE(owns(heap_, emptiest));
    EXPECT_LE(free_bytes(), Discipline::slack);
    expect_accounts(heap_);
    global_->notice(emptiest, RemoteWord{remote_of(emptiest)->word.load()});
    heap_.hand_over();
}

} // namespace
