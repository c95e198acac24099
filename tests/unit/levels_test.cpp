// SPDX-License-Identifier: MIT
//
// Levels: long blocks use what lies free above them; what is told to a heap that no thread has; after a fork, what is
// touched is counted anew.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

using Classes = FlagshipClasses;
using Discipline = Emptiness<FlagshipParameters::slack, 1, 6>;

const unsigned class_of_48 = Classes::class_of(48);

/// A heap whose thread ends while another thread, which has just freed so many of its blocks that the owner is to be
/// told, has not told it yet: the superblock can not be handed over.
class NoticeToTheDead : public testing::Test {
protected:
    using Heap = Levels<Classes, Discipline>::Heap;

    NoticeToTheDead() {
        Heap *const heap = levels_->open();
        heap_ = heap;
        std::vector<void *> blocks(1000); // of one superblock
        for (void *&p : blocks) {
            p = heap->malloc_class(class_of_48);
        }
        s_ = superblock::find(blocks[0], "free of").line;
        do {
            told_ = superblock::free_remote(s_, address_of(blocks.back()));
            blocks.pop_back();
        } while (!told_.is_notice());
        left_ = blocks.size();
        heap->hand_over();
        EXPECT_NE(remote().owner(), 0u) << "it belongs to the dead";
    }

    RemoteWord remote() const { return RemoteWord{remote_of(s_)->word.load()}; }
    Inbox *deliver() { return levels_->global().notice(s_, told_.word); }

    void expect_handed_over() {
        EXPECT_EQ(remote().owner(), 0u);
        EXPECT_FALSE(remote().queued());
        EXPECT_EQ(shared_of(s_)->owner.load(), nullptr);
        EXPECT_EQ(s_->accounted, left_);
        EXPECT_EQ(heap_->holdings().held(), 0u);
        Heap *const next = levels_->open();
        EXPECT_EQ(next, heap_);
        next->malloc_class(class_of_48);
        EXPECT_TRUE(next->owns(s_)) << "it serves the next one";
    }

    std::unique_ptr<Levels<Classes, Discipline>> levels_ = std::make_unique<Levels<Classes, Discipline>>();
    Heap *heap_ = nullptr;
    OwnerLine *s_ = nullptr;
    superblock::RemoteFree told_{};
    std::size_t left_ = 0;
};

TEST_F(NoticeToTheDead, AVisitorMayTakeTheNoticeInBeforeTheHeapIsIdle) {
    ASSERT_FALSE(deliver()->is_unowned()) << "so who tells does nothing more";
    {
        Visit<Heap> visit(*heap_);
        ASSERT_TRUE(visit);
        visit.settle();
    }
    ASSERT_TRUE(heap_->inbox().empty());
    EXPECT_NE(remote().owner(), 0u) << "a full enough superblock stays";
    levels_->registry().close(heap_);
    expect_handed_over();
}

TEST_F(NoticeToTheDead, WhoTellsAHeapThatIsIdleHandsTheSuperblockOver) {
    levels_->registry().close(heap_);
    ASSERT_TRUE(heap_->inbox().is_unowned());
    EXPECT_NE(remote().owner(), 0u);
    tell_now(levels_->registry(), levels_->global(), told_);
    expect_handed_over();
}

TEST_F(NoticeToTheDead, WhatWasToldBeforeTheHeapIsIdleItsLastThreadHandsOver) {
    Inbox *const inbox = deliver();
    ASSERT_FALSE(inbox->is_unowned());
    levels_->registry().tend(*inbox);
    EXPECT_NE(remote().owner(), 0u) << "whose heap is in use is not for others";
    levels_->registry().close(heap_);
    expect_handed_over();
}

/// Full superblocks stay with the heap of a thread that ends. The notice about one comes after they were looked at, and
/// before the heap is unowned: a visiting thread processes it, and the superblock has free blocks where it is.
TEST(Levels, AVisitMayProcessTheNoticeAboutAFullSuperblockBeforeTheHeapIsUnowned) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    std::vector<void *> blocks;
    OwnerLine *s = nullptr;
    do {
        blocks.push_back(heap->malloc_class(class_of_48));
        s = superblock::find(blocks[0], "free of").line;
    } while (blocks.size() < shared_of(s)->capacity);
    heap->hand_over();
    ASSERT_TRUE(heap->owns(s));
    superblock::RemoteFree told{};
    do {
        told = superblock::free_remote(s, address_of(blocks.back()));
        blocks.pop_back();
    } while (!told.is_notice());
    ASSERT_FALSE(levels->global().notice(s, told.word)->is_unowned());
    {
        Visit visit(*heap);
        ASSERT_TRUE(visit);
        visit.retire();
    }
    ASSERT_TRUE(heap->owns(s)) << "it has not much free";
    levels->registry().close(heap);
    EXPECT_EQ(RemoteWord{remote_of(s)->word.load()}.owner(), 0u);
    EXPECT_EQ(heap->holdings().held(), 0u);
}

/// Superblocks are paid for as they are cut. In the child the slots say what is a superblock, each superblock how far
/// it is cut.
TEST(Levels, TheChildOfAForkPaysForWhatSuperblocksHaveNotTouchedYet) {
    for (const bool survives : {true, false}) {
        const auto levels = std::make_unique<Levels<Classes, Discipline>>();
        auto *const mine = levels->open();
        auto *const of_another = levels->open();
        for (unsigned c = 0; c < Classes::count; ++c) {
            ASSERT_NE((c % 3 == 0 ? of_another : mine)->malloc_class(c), nullptr);
        }
        RunHeap &runs = levels->global().maker().runs();
        std::size_t untouched = 0;
        superblock::for_each(runs, [&](const OwnerLine *s) { untouched += span_of(s) - s->touched; });
        ASSERT_GT(untouched, 1_MiB);
        runs.pay(PurgingRuns::beside_superblocks);
        ASSERT_EQ(runs.touch(0), 0u) << "the line is at what is touched";

        levels->repair_after_fork(survives ? mine : nullptr);
        EXPECT_LT(runs.touch(0), 2 * slot_size) << "but for what each heap had still to tell";
        runs.pay(PurgingRuns::beside_superblocks);
        EXPECT_EQ(runs.touch(untouched), untouched);
    }
}

/// What a visitor had begun in the heap of the thread that forks, nobody ends: the child knows by the descriptors alone
/// what it has.
TEST(Levels, AHeapThatIsVisitedAtAForkGivesWhatItHasToTheGlobalHeap) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    std::vector<void *> blocks(3000);
    for (void *&p : blocks) {
        p = heap->malloc_class(class_of_48);
    }
    const auto mine = [&] {
        std::size_t count = 0;
        superblock::for_each(levels->global().maker().runs(),
                             [&](const OwnerLine *s) { count += heap->owns(s); });
        return count;
    };
    ASSERT_GE(mine(), 2u);
    ASSERT_TRUE(heap->presence().try_visit());
    sync::Ranked::forget_held(); // as a child does
    levels->repair_after_fork(heap);
    EXPECT_EQ(mine(), 0u);
    EXPECT_EQ(heap->holdings().held(), 0u);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_NE(heap->malloc_class(class_of_48), nullptr);
    }
    EXPECT_GE(mine(), 1u);
    EXPECT_TRUE(heap->presence().try_visit()) << "nobody is in";
    heap->presence().end_visit();
}

/// The fork came while another thread gave a superblock back: some of its slots are free ones already.
TEST(Levels, ASuperblockThatWasJustGivenBackIsFreeOnceInTheChildOfAFork) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    void *const p = heap->malloc_class(Classes::class_of(Classes::largest));
    OwnerLine *const s = superblock::superblock_at(address_of(p));
    superblock::push(s, address_of(p));
    ASSERT_GT(s->slots, 2u);
    Segment *const segment = Segment::of(s);
    const unsigned slot = segment->slot_of(s);
    for (const unsigned freed : {s->slots - 1u, 1u}) {
        segment->set_kinds(slot, 1, SlotKind::superblock);
        segment->set_kinds(slot + 1, s->slots - 1u - freed, SlotKind::tail);
        segment->set_kinds(slot + s->slots - freed, freed, SlotKind::free_dirty);
        levels->repair_after_fork(nullptr);
        levels->global().make_room(SIZE_MAX);
        EXPECT_EQ(levels->runs().dirty_bytes(), span_of(s)) << freed << " slots were free";
    }
}

/// A run that waits for who has freed it is free for all after a fork, after a tick, and when memory is asked for or
/// given back.
TEST(Levels, ARunThatWaitsForItsThreadIsNotForgotten) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    constexpr unsigned who = 3;
    bool clean = false;
    const auto malloc = [&] {
        auto &blocks = levels->long_blocks();
        void *const spare = blocks.malloc_spare(2 * slot_size, 16, who);
        return spare != nullptr ? spare : blocks.malloc(2 * slot_size, 16, clean, who);
    };
    const auto wait = [&] {
        void *const p = malloc();
        levels->long_blocks().free(superblock::find(p, "free of"), p, who);
        EXPECT_EQ(levels->runs().dirty_bytes(), 0u);
        return p;
    };
    void *const waits = wait();
    EXPECT_EQ(malloc(), waits);
    levels->long_blocks().free(superblock::find(waits, "free of"), waits, who);

    levels->repair_after_fork(nullptr);
    void *const first = malloc();
    void *const second = malloc();
    EXPECT_NE(first, second) << "one run, two ways to it";
    levels->long_blocks().free(superblock::find(first, "free of"), first);
    levels->long_blocks().free(superblock::find(second, "free of"), second);
    levels->trim(0);

    wait();
    levels->purge_idle(SIZE_MAX);
    EXPECT_EQ(levels->runs().dirty_bytes(), 2 * slot_size) << "from the next tick on it may go back";
    levels->trim(0);
    wait();
    EXPECT_EQ(levels->trim(0), 2 * slot_size);
    wait();
    EXPECT_TRUE(levels->give_up_caches());
    EXPECT_EQ(levels->runs().dirty_bytes(), 2 * slot_size);
}

/// A long run that waits is surplus as any other, and waits no more when more memory is touched than ever was.
TEST(Levels, ALongRunThatWaitsIsForGrowth) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    bool clean = false;
    const auto turn = [&] {
        auto &blocks = levels->long_blocks();
        void *const spare = blocks.malloc_spare(1_MiB, 16, 3);
        void *const p = spare != nullptr ? spare : blocks.malloc(1_MiB, 16, clean, 3);
        levels->long_blocks().free(superblock::find(p, "free of"), p, 3);
    };
    const auto turns = [&] {
        for (unsigned i = 0; i < SpareRuns::least_turns; ++i) {
            turn();
        }
    };
    turns();
    EXPECT_EQ(levels->surplus_bytes(), 1_MiB);
    EXPECT_EQ(levels->runs().dirty_bytes(), 0u);
    EXPECT_TRUE(levels->after_growth()) << "by the first of them";
    EXPECT_EQ(levels->runs().dirty_bytes(), 1_MiB);
    turns();
    EXPECT_EQ(levels->runs().dirty_bytes(), 0u);
    EXPECT_FALSE(levels->after_growth());
    EXPECT_EQ(levels->runs().dirty_bytes(), 0u) << "nothing has grown";
    EXPECT_NE(levels->long_blocks().malloc(2_MiB, 16, clean, 1), nullptr);
    EXPECT_EQ(levels->surplus_bytes(), levels->runs().dirty_bytes()) << "a longer one was asked for";
}

/// Whoever asks: memory that lies free in anybody's stripe counts, and that of huge blocks.
TEST(Levels, ASurplusIsOverAllStripes) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    bool clean = false;
    const auto lies_free = [&](std::size_t size, unsigned who) {
        void *const p = levels->long_blocks().malloc(size, 16, clean, who);
        levels->long_blocks().free(superblock::find(p, "free of"), p, who);
    };
    const auto expect_surplus = [&](std::size_t bytes) {
        for (const unsigned who : {0u, 1u, 2u, 3u}) {
            EXPECT_FALSE(levels->has_surplus(bytes, who)) << who;
            EXPECT_TRUE(levels->has_surplus(bytes - 1, who)) << who;
        }
    };
    lies_free(1_MiB, 1);
    expect_surplus(1_MiB);
    lies_free(3_MiB, 2); // more than twice as long as what lies there
    expect_surplus(4_MiB);
    lies_free(20_MiB, 3);
    expect_surplus(24_MiB);
}

/// However many owners are inside: who waits behind them is visited before memory grows for the third time.
TEST(Levels, AHeapBehindManyWhoseOwnersAreInsideIsVisited) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    std::vector<Levels<Classes, Discipline>::Heap *> heaps(100);
    for (auto *&heap : heaps) {
        heap = levels->open();
        ASSERT_NE(heap, nullptr);
        heap->inbox().overdrawn = true;
        levels->global().notices().wanted_visits().add(heap->inbox());
    }
    for (auto *const heap : heaps) {
        heap != heaps.front() ? heap->presence().enter() : void();
    }
    EXPECT_FALSE(levels->visit_wanted(nullptr)) << "one call does not look at all of them";
    EXPECT_TRUE(levels->visit_wanted(nullptr));
    EXPECT_FALSE(heaps.front()->inbox().overdrawn);
    EXPECT_FALSE(heaps.front()->inbox().wanted);
    heaps.back()->presence().leave();
    EXPECT_TRUE(levels->visit_wanted(nullptr) || levels->visit_wanted(nullptr)) << "nor are they forgotten";
    EXPECT_FALSE(heaps.back()->inbox().overdrawn);
    for (auto *const heap : heaps) {
        heap->presence().leave();
    }
}

/// More than the table of inboxes has without memory of its own.
TEST(Levels, AHeapIsFoundByItsNumberHoweverManyThereAre) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    for (unsigned number = 1; number <= 1200; ++number) {
        auto *const heap = levels->open();
        ASSERT_NE(heap, nullptr);
        ASSERT_EQ(levels->global().notices().inbox(number), &heap->inbox());
    }
}

TEST(Levels, HeapsThatAreClosedHaveNoShare) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    for (unsigned i = 0; i < 10 * HeapsInUse::for_each_processor * platform::processors(); ++i) {
        levels->close(levels->open());
    }
    EXPECT_EQ(heap->holdings().share(1_MiB), 1_MiB);
}

TEST(Levels, InTheChildOfAForkAllHeapsButOneServeNewThreads) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    std::set<void *> all;
    for (int i = 0; i < 4; ++i) {
        all.insert(levels->open());
    }
    auto *const survivor = levels->open();
    auto *const idle = levels->open();
    levels->close(idle);
    all.insert(idle);
    const auto heaps = [&] {
        Statistics now;
        levels->statistics(now);
        return now.heaps;
    };
    EXPECT_EQ(heaps(), 5u);
    levels->repair_after_fork(survivor);
    EXPECT_EQ(heaps(), 1u);
    EXPECT_EQ(levels->global().stock().heaps().together(1), 1u);
    for (std::size_t left = all.size(); left != 0; --left) {
        EXPECT_EQ(all.erase(levels->open()), 1u) << "each once";
    }
    EXPECT_EQ(heaps(), 6u);
    EXPECT_NE(levels->open(), idle) << "a thread has it";
}

/// Another thread may have been about to say that it has mapped or unmapped something.
TEST(Levels, InTheChildOfAForkWhatIsMappedIsCountedAnew) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const survivor = levels->open();
    const auto mapped = [&] {
        Statistics now;
        levels->statistics(now);
        return now.mapped;
    };
    survivor->malloc_class(class_of_48);
    bool clean = false;
    std::vector<void *> blocks;
    for (const std::size_t size : {40_MiB, 33_MiB, 15_MiB, 15_MiB, 15_MiB, 15_MiB, 1_MiB}) {
        blocks.push_back(levels->long_blocks().malloc(size, 16, clean));
        ASSERT_NE(blocks.back(), nullptr);
    }
    levels->long_blocks().free(superblock::find(blocks[1], "free of"), blocks[1]); // into the cache
    const std::size_t before = mapped();
    levels->repair_after_fork(survivor);
    EXPECT_EQ(mapped(), before);
    levels->runs().space().grew(100_MiB);
    levels->repair_after_fork(survivor);
    EXPECT_EQ(mapped(), before);
}

/// With more heaps than have their full share: all of it while the process has little.
TEST(Levels, ASmallProcessSharesNothing) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    levels->registry().set_small_process(levels->runs(), 24_MiB);
    auto *const heap = levels->open();
    for (unsigned i = 0; i < 2 * HeapsInUse::for_each_processor * platform::processors(); ++i) {
        levels->open();
    }
    heap->malloc_class(class_of_48);
    EXPECT_EQ(heap->holdings().share(1_MiB), 1_MiB);
    bool clean = false;
    void *const much = levels->long_blocks().malloc(30_MiB, 16, clean);
    levels->runs().pay(PurgingRuns::beside_blocks);
    EXPECT_LT(heap->holdings().share(1_MiB), 1_MiB);
    levels->long_blocks().free(superblock::find(much, "free of"), much);
    levels->trim(0);
    EXPECT_EQ(heap->holdings().share(1_MiB), 1_MiB);
}

/// Of many heaps each has what its bins may have: threads that pass memory on would all have it at once.
TEST(Levels, AProcessIsSmallBelowWhatTheBoundLeavesEachOfFewHeaps) {
    EXPECT_EQ(Discipline::small_process(4), 8_MiB);
    EXPECT_EQ(Discipline::small_process(7), 8_MiB);
    EXPECT_EQ(Discipline::small_process(8), 8 * Discipline::bins_slack);
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    levels->registry().set_small_process(levels->runs(), 24_MiB);
    for (std::size_t heaps = 1; heaps <= 2; ++heaps) {
        levels->open();
        const std::size_t touched = levels->runs().resident_bytes();
        bool clean = false;
        levels->long_blocks().malloc(heaps * Discipline::small_heap - touched - 2 * slot_size, 16, clean);
        levels->runs().pay(PurgingRuns::beside_blocks);
        EXPECT_TRUE(levels->runs().line().is_small());
        levels->long_blocks().malloc(4 * slot_size, 16, clean);
        levels->runs().pay(PurgingRuns::beside_blocks);
        EXPECT_FALSE(levels->runs().line().is_small());
    }
}

/// A heap that nobody uses, and holds much.
class Sleeper : public testing::Test {
protected:
    using Heap = Levels<Classes, Discipline>::Heap;

    /// Classes of superblocks of one slot: longer ones would make the global heap make room.
    static constexpr unsigned one_slot = Classes::class_of(slot_size / 16);

    /// `stay`: of the first blocks of each class.
    void go_to_sleep(std::size_t stay = 0) {
        std::vector<void *> blocks;
        for (unsigned c = 0; c < one_slot; ++c) {
            std::size_t n = 0;
            for (std::size_t bytes = 0; bytes < slot_size; bytes += Classes::size_of(c)) {
                void *const block = sleeper_->malloc_class(c);
                if (n++ >= stay) {
                    blocks.push_back(block);
                }
            }
        }
        levels_->after_growth(mine_);
        free_all(sleeper_, blocks);
        ASSERT_TRUE(is_wanted());
    }

    bool is_wanted() { return sleeper_->inbox().wanted.load(); }
    void want() {
        sleeper_->inbox().overdrawn.store(true);
        levels_->global().notices().wanted_visits().add(sleeper_->inbox());
    }

    /// A long block for which free memory is not enough, and the visits that follow.
    void grow(std::size_t bytes = slot_size) {
        bool clean = false;
        ASSERT_NE(levels_->long_blocks().malloc(levels_->global().free_bytes() + bytes, 16, clean), nullptr);
        levels_->after_growth(mine_);
    }

    static void free_all(Heap *heap, const std::vector<void *> &blocks) {
        for (void *const p : blocks) {
            OwnerLine *const s = superblock::find(p, "free of").line;
            if (heap->free_local(s, address_of(p))) {
                heap->check(s);
            }
        }
    }
    std::size_t held() { return sleeper_->holdings().held(); }

    std::unique_ptr<Levels<Classes, Discipline>> levels_ = std::make_unique<Levels<Classes, Discipline>>();
    Heap *mine_ = levels_->open();
    Heap *sleeper_ = levels_->open();
};

/// For the next time.
TEST_F(Sleeper, GrowthMakesVisits) {
    go_to_sleep();
    const std::size_t before = held();
    EXPECT_FALSE(levels_->after_growth(mine_));
    EXPECT_EQ(held(), before) << "it has not";
    grow();
    EXPECT_LT(held(), before);
}

/// Else threads that each use a little of many superblocks would take them from each other for ever.
TEST_F(Sleeper, GrowthMakesAPauseAfterVisitsThatFreeNothing) {
    grow(15_MiB);
    grow(15_MiB);
    go_to_sleep(1);
    grow();
    levels_->trim(0); // so that little growth is little
    want();
    grow();
    ASSERT_FALSE(is_wanted()) << "visited, when it had nothing left to give";
    want();
    grow();
    EXPECT_TRUE(is_wanted()) << "not yet again";
    grow(4_MiB);
    EXPECT_FALSE(is_wanted()) << "more than a sixteenth of the memory later";
}

/// A pool of threads that take turns needs the memory of those that sleep each time.
TEST_F(Sleeper, GrowthMakesNoPauseAfterVisitsThatFreeMemory) {
    grow(15_MiB);
    grow(15_MiB);
    go_to_sleep();
    grow();
    ASSERT_FALSE(is_wanted()) << "visited";
    want();
    grow();
    EXPECT_FALSE(is_wanted()) << "visited again";
}

/// Superblocks without live blocks that have touched little are no reason to look no further.
TEST_F(Sleeper, GrowthMakesVisitsWhileWhatLiesFreeHasTouchedLittle) {
    std::vector<std::pair<Heap *, void *>> blocks;
    while (blocks.size() * slot_size < 24_MiB) {
        Heap *const heap = levels_->open();
        for (unsigned c = 0; c < one_slot; ++c) {
            blocks.emplace_back(heap, heap->malloc_class(c));
        }
    }
    for (const auto &[heap, p] : blocks) {
        heap->free_local(superblock::find(p, "free of").line, address_of(p));
        heap->give_empty();
    }
    go_to_sleep();
    ASSERT_GT(levels_->global().free_bytes(), 16_MiB);
    const std::size_t before = held();
    levels_->runs().touch(16 * slot_size);
    levels_->global().maker().pay();
    levels_->after_growth(mine_);
    EXPECT_LT(held(), before);
}

TEST(Levels, ALongBlockTakesKeptSuperblocksOnlyWhereNoUsedRunIsLongEnough) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    const auto keep_one = [&] { // a superblock without live blocks, in the global heap
        void *const p = heap->malloc_class(class_of_48);
        heap->free_local(superblock::find(p, "free of").line, address_of(p));
        EXPECT_TRUE(heap->give_empty());
    };
    const auto kept = [&] { return levels->global().stock().empty_bytes(); };
    const auto malloc_long = [&](std::size_t size) {
        bool clean = true;
        return levels->long_blocks().malloc(size, 16, clean);
    };
    const auto free_long = [&](void *p) { levels->long_blocks().free(superblock::find(p, "free of"), p); };

    void *const used = malloc_long(5 * slot_size);
    keep_one();
    EXPECT_EQ(kept(), slot_size);
    free_long(used);
    EXPECT_EQ(malloc_long(4 * slot_size), used);
    EXPECT_EQ(kept(), slot_size) << "a used run of five slots served it";
    EXPECT_NE(malloc_long(2 * slot_size), nullptr);
    EXPECT_EQ(kept(), 0u) << "one slot is left of that run: the superblock may make a longer one of it";
    void *const longest = malloc_long(LargeHeap::largest);
    void *const behind = malloc_long(8 * slot_size);
    ASSERT_EQ(behind, static_cast<char *>(longest) + LargeHeap::largest);
    keep_one();
    EXPECT_EQ(kept(), slot_size);
    free_long(longest);
    free_long(behind);
    EXPECT_NE(malloc_long(LargeHeap::largest + 1), nullptr);
    EXPECT_EQ(kept(), 0u) << "a huge block's memory is new, whatever used runs there are";
}

/// The owner was inside when its absence was told: it is looked for again, and until then whoever does that does not
/// sleep.
TEST(Levels, AnAbsentHeapThatNobodyCouldVisitIsVisitedLater) {
    const auto levels = std::make_unique<Levels<Classes, Discipline>>();
    auto *const heap = levels->open();
    levels->open(); // where there is one only nobody is looked for
    for (unsigned c = 0; c < Classes::count; ++c) {
        void *const p = heap->malloc_class(c);
        static_cast<void>(heap->free_local(superblock::find(p, "free of").line, address_of(p)));
    }
    levels->retire_inactive(); // seen for the first time
    std::this_thread::sleep_for(std::chrono::milliseconds(inactive_after_milliseconds + 10));
    const std::size_t held = heap->holdings().held();
    heap->presence().enter();
    levels->retire_inactive();
    EXPECT_TRUE(levels->has_heaps_to_check());
    EXPECT_EQ(heap->holdings().held(), held);
    heap->presence().leave();
    levels->retire_inactive();
    EXPECT_FALSE(levels->has_heaps_to_check());
    EXPECT_LT(heap->holdings().held(), held);
}

} // namespace
