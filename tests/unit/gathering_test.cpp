// SPDX-License-Identifier: MIT
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

using Classes = FlagshipClasses;
using Discipline = Emptiness<128_KiB, 1, 6>;
using Shared = Levels<Classes, Discipline>;
using Heap = Shared::Heap;

TEST(GatheringLimit, AChainIsAStepAtMostAndTakesLittle) {
    static_assert(GatheredChain::limit_of(1, 16, 512) == GatheredChain::most_blocks);
    static_assert(GatheredChain::limit_of(1, 256, 32) == GatheredChain::most_bytes / 256);
    static_assert(GatheredChain::limit_of(1, 64, 5) == 5);
    static_assert(GatheredChain::limit_of(1, GatheredChain::most_bytes / 2, 4) == 2);
    static_assert(GatheredChain::limit_of(1, GatheredChain::most_bytes / 2 + 16, 4) == 0, "one is no chain");
    static_assert(GatheredChain::limit_of(2, 64, 32) == 0);
    for (unsigned c = 0; c < Classes::count; ++c) {
        const std::size_t size = Classes::size_of(c);
        const auto capacity = static_cast<unsigned>(slot_size / size);
        EXPECT_LE(GatheredChain::limit_of(1, size, Discipline::remote_step_of(capacity)) * size,
                  GatheredChain::most_bytes);
    }
}

/// Two threads' heaps, of which the second one frees what the first one has allocated.
class GatheringTest : public testing::Test {
protected:
    static constexpr std::size_t size = 64;
    static constexpr unsigned longest = GatheredChain::most_blocks;

    GatheringTest() {
        for (unsigned i = 0; i < 2 * slot_size / size; ++i) {
            blocks_.push_back(address_of(owner_->malloc_class(Classes::class_of(size))));
        }
    }

    OwnerLine *superblock_of(unsigned block) const { return superblock::superblock_at(blocks_[block]); }
    unsigned arrived(unsigned block = 0) const {
        return RemoteWord{remote_of(superblock_of(block))->word.load()}.count();
    }
    struct Telling {
        GatheringTest &test;
        void operator()(const Gathering::Left &left) const { test.left_ += !left.is_done(); }
        void begun() const { ++test.begun_; }
    };
    void free(unsigned block) {
        cairn::free_remote(*freer_, superblock_of(block), blocks_[block], Telling{*this});
    }
    void free(unsigned first, unsigned behind) {
        for (; first != behind; ++first) {
            free(first);
        }
    }
    bool is_gathered(unsigned block) { return levels_->is_gathered(superblock_of(block), blocks_[block]); }
    unsigned other() const {
        return static_cast<unsigned>(slot_size / size);
    } ///< a block of the next superblock

    std::unique_ptr<Shared> levels_ = std::make_unique<Shared>();
    Heap *owner_ = levels_->open();
    Heap *freer_ = levels_->open();
    std::vector<std::uintptr_t> blocks_;
    unsigned left_ = 0; ///< so many times was something left to do
    unsigned begun_ = 0;
};

TEST_F(GatheringTest, AChainBeginsWithTheSecondInARowAndGoesAsAWhole) {
    free(0);
    EXPECT_EQ(arrived(), 1u) << "it may be the only one";
    EXPECT_FALSE(is_gathered(0));
    free(1, longest);
    EXPECT_EQ(arrived(), 1u);
    for (unsigned i = 1; i < longest; ++i) {
        EXPECT_TRUE(is_gathered(i)) << i;
    }
    EXPECT_FALSE(is_gathered(longest)) << "it is live";
    free(longest);
    EXPECT_EQ(arrived(), 1 + longest);
    EXPECT_FALSE(is_gathered(longest));
    free(longest + 1);
    EXPECT_EQ(arrived(), 1 + longest) << "the next chain";
    freer_->give_gathered();
    EXPECT_EQ(arrived(), 2 + longest);
    EXPECT_EQ(begun_, 2u);
}

/// Superblocks were counted before the chains are, and what they have live may be less by now: the second time stands
/// for that.
TEST_F(GatheringTest, TheFiguresHaveNoMoreAsFreeThanTheyHadLive) {
    Statistics figures;
    figures.size_classes = Classes::count;
    SizeClassStatistics &row = figures.by_class[Classes::class_of(size)];
    row = {.block_size = size, .live_blocks = 4};
    figures.small_live = 4 * size;
    free(0, 5);
    for (int time = 0; time < 2; ++time) {
        freer_->gathering().count_as_free(figures);
        EXPECT_EQ(row.live_blocks, 0u);
        EXPECT_EQ(row.free_blocks, 4u);
        EXPECT_EQ(figures.small_live, 0u);
    }
}

TEST_F(GatheringTest, WhatComesBackIsAsFreeAsWhatComesAlone) {
    const unsigned all = other();
    free(0, all);
    freer_->give_gathered();
    EXPECT_EQ(arrived(), all);
    OwnerLine *const s = superblock_of(0);
    superblock::collect(s);
    EXPECT_EQ(s->live(), 0u);
    std::vector<std::uintptr_t> popped;
    while (!superblock::is_end(s->free)) {
        popped.push_back(address_of(superblock::pop(s, slot_size)));
    }
    std::sort(popped.begin(), popped.end());
    EXPECT_TRUE(std::equal(popped.begin(), popped.end(), blocks_.begin(), blocks_.begin() + all));
}

TEST_F(GatheringTest, AStepOfFreesIsToldAboutOnce) {
    const unsigned step = Discipline::remote_step_of(static_cast<unsigned>(slot_size / size));
    free(0, 2 * step + 1);
    EXPECT_EQ(left_, 2u) << "a notice, and one step more";
}

TEST_F(GatheringTest, WhatGoesHereAndThereDoesNotWait) {
    for (unsigned i = 0; i < 10; ++i) {
        free(i);
        free(other() + i);
    }
    EXPECT_EQ(arrived(), 10u);
    EXPECT_EQ(arrived(other()), 10u);
    free(other() + 10);
    EXPECT_EQ(arrived(other()), 10u);
    free(10);
    EXPECT_EQ(arrived(other()), 11u) << "another superblock of the class takes the place";
    EXPECT_EQ(arrived(), 11u);
}

TEST_F(GatheringTest, NoChainOutlivesItsThread) {
    free(0, 2);
    levels_->close(freer_);
    EXPECT_EQ(arrived(), 2u);
}

TEST_F(GatheringTest, NoChainWaitsForLongWhileItsThreadComesBy) {
    free(0, 2);
    for (unsigned i = 0; i < Gathering::chains; ++i) {
        freer_->give_next_gathered();
    }
    EXPECT_EQ(arrived(), 2u);
}

TEST_F(GatheringTest, AHeapThatRetiresGivesItsChainsBack) {
    free(0, 2);
    retire_all(levels_->registry());
    EXPECT_EQ(arrived(), 2u);
    free(2, 4);
    freer_->presence().begin(&freer_->gathering());
    retire_all(levels_->registry());
    EXPECT_EQ(arrived(), 2u) << "its thread is just adding to them";
    freer_->presence().end();
    retire_all(levels_->registry());
    EXPECT_EQ(arrived(), 4u);
}

TEST_F(GatheringTest, AThreadThatOnlyFreesIsSeenToBeAbsent) {
    EXPECT_FALSE(freer_->attendance.is_due(1000, 100));
    free(0, 2);
    EXPECT_FALSE(freer_->attendance.is_due(2000, 100));
    EXPECT_TRUE(freer_->attendance.is_due(2100, 100));
    freer_->give_gathered();
    free(2);
    EXPECT_FALSE(freer_->attendance.is_due(3000, 100)) << "a chain anew";
    EXPECT_TRUE(freer_->attendance.is_due(3100, 100));
}

TEST_F(GatheringTest, AnAbsentHeapIsDueAgainWhenOthersHaveFreedMuch) {
    auto &registry = levels_->registry();
    owner_->attendance.come_by();
    freer_->attendance.come_by();
    const auto due = [&](std::uint64_t now) {
        std::vector<Heap *> found;
        for (unsigned left = registry.heaps_to_check(); left != 0; --left) {
            if (Heap *const heap = registry.next_inactive(now, 100)) {
                found.push_back(heap);
            }
        }
        return found;
    };
    EXPECT_EQ(due(1000).size(), 0u) << "seen for the first time";
    EXPECT_EQ(due(1100).size(), 2u) << "a look at each";
    EXPECT_EQ(registry.heaps_to_check(), 0u);
    owner_->inbox().note_freed(Discipline::slack);
    EXPECT_EQ(registry.heaps_to_check(), 0u);
    owner_->inbox().note_freed(1);
    EXPECT_EQ(due(1101), std::vector<Heap *>{owner_});
}

TEST_F(GatheringTest, DuringAVisitNothingIsGathered) {
    free(0, 2);
    {
        Visit visit(*freer_);
        ASSERT_TRUE(static_cast<bool>(visit));
        free(2);
        EXPECT_EQ(arrived(), 2u) << "what is there is the visitor's";
    }
    free(3);
    EXPECT_EQ(arrived(), 2u);
}

TEST_F(GatheringTest, WhereNobodyCouldVisitNothingIsGathered) {
    freer_->presence().fence_from_now_on();
    free(0, 10);
    EXPECT_EQ(arrived(), 10u);
}

TEST_F(GatheringTest, AChildOfAForkCountsSoundChainsOnly) {
    free(0, 3);
    EXPECT_EQ(arrived(), 1u);
    freer_->gathering().publish_after_fork();
    EXPECT_EQ(arrived(), 3u);
    free(other(), other() + 3);
    superblock::word_of(blocks_[other() + 2]) = 17; // the fork came when its link was not written yet
    freer_->gathering().publish_after_fork();
    EXPECT_EQ(arrived(other()), 1u);
    EXPECT_TRUE(freer_->gathering().chain_of(shared_of(superblock_of(other()))).empty());
}

// ---- of a whole allocator

struct CountingLife {
    static bool attached() { return true; }
    static void grew() {}
    static void surplus() {}
    static void returned() { ++times; }
    static inline unsigned times = 0;
};
constinit Flagship<CountingLife> whole;

unsigned arrived_at(const void *p) {
    return RemoteWord{remote_of(superblock::superblock_at(address_of(p)))->word.load()}.count();
}

/// A thread allocates four blocks, `work` does something with them in another one, while the first lives or after it
/// has ended.
void in_another_thread(bool owner_lives, const std::function<void(void **)> &work) {
    void *blocks[4];
    const auto allocate = [&] {
        for (void *&p : blocks) {
            p = whole.malloc(64);
        }
    };
    std::thread owner([&] {
        allocate();
        if (owner_lives) {
            std::thread other([&] {
                work(blocks);
                whole.detach();
            });
            other.join();
        }
        whole.detach();
    });
    owner.join();
    if (!owner_lives) {
        std::thread([&] {
            work(blocks);
            whole.detach();
        }).join();
    }
    std::thread([&] {
        whole.free(blocks[2]);
        whole.free(blocks[3]);
        whole.detach();
    }).join();
}

/// Frees the first two, of which one or both wait here. How many will have arrived when they do not wait any more.
unsigned gather_two(void **blocks) {
    const unsigned all = arrived_at(blocks[2]) + 2;
    whole.free(blocks[0]);
    whole.free(blocks[1]);
    EXPECT_LT(arrived_at(blocks[2]), all);
    return all;
}

TEST(GatheringWhole, SlowPathsGiveChainsBackInTurn) {
    in_another_thread(true, [](void **blocks) {
        const unsigned before = CountingLife::times;
        const unsigned all = gather_two(blocks);
        EXPECT_EQ(CountingLife::times, before + 1) << "somebody may have to come for it";
        std::vector<void *> others;
        for (unsigned c = 0; c < Classes::count; ++c) {
            others.push_back(whole.malloc(Classes::size_of(c)));
        }
        EXPECT_EQ(arrived_at(blocks[2]), all);
        for (void *const p : others) {
            whole.free(p);
        }
    });
}

TEST(GatheringWhole, TrimGivesBackWhatItsCallerHasGathered) {
    in_another_thread(false, [](void **blocks) {
        whole.free(whole.malloc(8)); // the only heap in use: nobody visits it
        const unsigned all = gather_two(blocks);
        whole.trim(0);
        EXPECT_EQ(arrived_at(blocks[2]), all);
    });
}

TEST(GatheringWhole, AThreadThatEndsGivesBackWhatItHasGathered) {
    in_another_thread(true, [](void **blocks) {
        const unsigned all = gather_two(blocks);
        whole.detach();
        EXPECT_EQ(arrived_at(blocks[2]), all);
    });
}

} // namespace
