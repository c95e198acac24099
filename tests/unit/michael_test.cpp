// SPDX-License-Identifier: MIT
//
// Michael's superblocks, in one thread: credits, the states of an anchor, the slot and the queue, empty superblocks
// that another class gets, and what happens when memory ends.
#include "michael_audit.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

namespace cairn {
namespace {

using Layout = MichaelPlaces<MichaelParameters>::Layout;

/// One heap of superblocks of 64 KiB; in the class of 1 KiB they have 64 blocks.
struct OneHeap : MichaelParameters {
    static constexpr unsigned most_credits = 10;
    static constexpr unsigned processors = 1;
};

/// So many superblocks, and no more.
template <unsigned Count>
class Limited {
public:
    MichaelSuperblock *take() { return taken_ == Count ? nullptr : (++taken_, segments_.take()); }
    template <class F>
    void for_each(F f) const {
        segments_.for_each(f);
    }

private:
    family::Segments<Layout> segments_;
    unsigned taken_ = 0;
};

constexpr std::size_t size = 1_KiB;
constexpr unsigned size_class = 7;
constexpr std::uint32_t capacity = 64;

template <class Small>
class MichaelTest : public testing::Test {
protected:
    void *malloc(std::size_t bytes = size) { return heap_.malloc(bytes); }

    /// A full superblock's blocks, from a heap without a free block of the class.
    std::vector<void *> fill(std::size_t bytes = size) {
        std::vector<void *> blocks(64_KiB / bytes);
        for (void *&p : blocks) {
            p = malloc(bytes);
            EXPECT_NE(p, nullptr);
        }
        EXPECT_EQ(std::set<void *>(blocks.begin(), blocks.end()).size(), blocks.size());
        EXPECT_EQ(Layout::descriptor(blocks.front()), Layout::descriptor(blocks.back()));
        EXPECT_EQ(anchor(blocks[0]).state, MichaelState::full);
        return blocks;
    }
    /// So many superblocks, filled one after the other; then of each in the same order one block is freed.
    std::vector<std::vector<void *>> fill_and_free_one_each(unsigned count, std::size_t bytes = size) {
        std::vector<std::vector<void *>> all;
        for (unsigned i = 0; i < count; ++i) {
            all.push_back(fill(bytes));
        }
        for (auto &blocks : all) {
            heap_.free(blocks.back());
            blocks.pop_back();
        }
        return all;
    }
    void free_all(std::vector<void *> &blocks) {
        for (void *const p : blocks) {
            heap_.free(p);
        }
        blocks.clear();
    }

    static MichaelAnchor anchor(const void *p) { return Layout::descriptor(p)->look(); }
    Layout::Reference active(unsigned c = size_class) { return heap_.places().active_now(0, c); }

    using Audit = test::MichaelAudit<Small>;
    Audit audit() { return Audit(heap_); }
    void TearDown() override { audit(); }

    Small heap_;
};
using MichaelBlocks = MichaelTest<MichaelSmallHeap<OneHeap>>;
using MichaelLimits = MichaelTest<MichaelSmallHeap<OneHeap, Limited<4>>>;

TEST(MichaelAnchor, IsOneWord) {
    constexpr MichaelAnchor all{0xffff, 0x3fff, MichaelState::empty, 0xffffffff};
    static_assert(all.bits() == ~std::uint64_t{0});
    constexpr MichaelAnchor some{3, 8191, MichaelState::partial, 7};
    constexpr MichaelAnchor same = MichaelAnchor::of(some.bits());
    static_assert(same.first == 3 && same.count == 8191 && same.state == MichaelState::partial &&
                  same.tag == 7);
    static_assert(MichaelAnchor::of(0).state == MichaelState::active);
}

TEST_F(MichaelBlocks, ANewSuperblockIsActiveWithAllCreditsButOne) {
    void *const p = malloc();
    EXPECT_EQ(active().pointer(), Layout::memory(Layout::descriptor(p)));
    EXPECT_EQ(active().tag() + 1, OneHeap::most_credits);
    EXPECT_EQ(anchor(p).state, MichaelState::active);
    EXPECT_EQ(anchor(p).count, capacity - 1 - OneHeap::most_credits);
    EXPECT_EQ(audit().live, 1u);
}

TEST_F(MichaelBlocks, ABlockCostsACreditAndTheLastOneBringsMore) {
    void *p = malloc();
    for (std::uint64_t left = OneHeap::most_credits - 1; left != 0; --left) {
        p = malloc();
        EXPECT_EQ(active().tag() + 1, left);
        EXPECT_EQ(anchor(p).count, capacity - 1 - OneHeap::most_credits) << "the list is as long as before";
    }
    p = malloc();
    EXPECT_EQ(active().tag() + 1, OneHeap::most_credits);
    EXPECT_EQ(anchor(p).count, capacity - 1 - 2 * OneHeap::most_credits);
    EXPECT_EQ(anchor(p).tag, 1 + OneHeap::most_credits) << "a block, a tag";
    EXPECT_EQ(audit().live, 1 + OneHeap::most_credits);
}

TEST_F(MichaelBlocks, AFreeIntoTheActiveOneLeavesTheCredits) {
    void *const p = malloc();
    void *const q = malloc();
    heap_.free(p);
    EXPECT_EQ(anchor(q).state, MichaelState::active);
    EXPECT_EQ(anchor(q).count, capacity - OneHeap::most_credits);
    heap_.free(q);
    EXPECT_EQ(anchor(q).state, MichaelState::active) << "who has credits is not empty";
    EXPECT_EQ(audit().live, 0u);
    EXPECT_EQ(malloc(), q) << "last freed, first taken";
}

TEST_F(MichaelBlocks, AFullOneIsNowhereAndItsFirstFreePutsItIntoTheSlot) {
    std::vector<void *> blocks = fill();
    EXPECT_TRUE(active().is_null());
    EXPECT_EQ(audit().full, 1u);
    heap_.free(blocks.back());
    EXPECT_EQ(anchor(blocks[0]).state, MichaelState::partial);
    EXPECT_EQ(anchor(blocks[0]).count, 1u);
    EXPECT_EQ(audit().in_slots, 1u);
    EXPECT_EQ(malloc(), blocks.back());
    EXPECT_EQ(anchor(blocks[0]).state, MichaelState::full) << "there was no more than this one";
    EXPECT_EQ(audit().full, 1u);
}

TEST_F(MichaelBlocks, APartlyFilledOneBecomesActiveWithWhatItHas) {
    std::vector<void *> blocks = fill();
    for (int i = 0; i < 5; ++i) {
        heap_.free(blocks.back());
        blocks.pop_back();
    }
    void *const p = malloc();
    EXPECT_EQ(anchor(p).state, MichaelState::active);
    EXPECT_EQ(active().tag() + 1, 4u);
    EXPECT_EQ(anchor(p).count, 0u);
    EXPECT_EQ(audit().active, 1u);
}

TEST_F(MichaelBlocks, TheSlotHasTheLastOneAndTheQueueTheOthersInOrder) {
    std::vector<std::vector<void *>> all = fill_and_free_one_each(5);
    MichaelBlocks::Audit now = audit();
    EXPECT_EQ(now.in_slots, 1u);
    EXPECT_EQ(now.queued, 4u);
    for (const int expected : {4, 0, 1, 2, 3}) { // the slot, then first in, first out
        EXPECT_EQ(Layout::descriptor(malloc()), Layout::descriptor(all[static_cast<unsigned>(expected)][0]));
    }
    EXPECT_EQ(audit().full, 5u);
}

TEST_F(MichaelBlocks, TheLastFreeOfAPartlyFilledOneRetiresItForAnyClass) {
    std::vector<void *> blocks = fill();
    const MichaelSuperblock *const superblock = Layout::descriptor(blocks[0]);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
    free_all(blocks);
    EXPECT_EQ(superblock->look().state, MichaelState::empty);
    EXPECT_EQ(audit().retired, 1u);
    std::vector<void *> others = fill(64);
    EXPECT_EQ(Layout::descriptor(others[0]), superblock);
    EXPECT_EQ(audit().superblocks, 1u);
    EXPECT_EQ(heap_.getSize(others[0]), 64u);
    free_all(others);
    others = fill(32_KiB);
    EXPECT_EQ(Layout::descriptor(others[0]), superblock);
    free_all(others);
    others = fill(32_KiB); // the same class again, with its list as it was
    EXPECT_EQ(Layout::descriptor(others[0]), superblock);
    EXPECT_EQ(audit().superblocks, 1u);
}

TEST_F(MichaelBlocks, AnEmptyOneInTheQueueIsRetiredWhenItsTurnComes) {
    std::vector<std::vector<void *>> all = fill_and_free_one_each(4);
    free_all(all[2]); // queue: 0 1 2, slot: 3. The look from the front ends at 0 and 1, which go to the end.
    MichaelBlocks::Audit now = audit();
    EXPECT_EQ(now.retired, 0u);
    EXPECT_EQ(now.empty_and_not_retired, 1u);
    EXPECT_EQ(now.queued, 3u);
    free_all(all[0]); // queue: 2 0 1
    now = audit();
    EXPECT_EQ(now.retired, 2u);
    EXPECT_EQ(now.empty_and_not_retired, 0u);
    EXPECT_EQ(now.queued, 1u);
    free_all(all[3]);
    EXPECT_EQ(audit().retired, 3u);
}

TEST_F(MichaelBlocks, MallocPassesOverEmptyOnes) {
    std::vector<std::vector<void *>> all = fill_and_free_one_each(4);
    free_all(all[2]); // slot: 3, queue: 2 0 1
    EXPECT_EQ(Layout::descriptor(malloc()), Layout::descriptor(all[3][0]));
    EXPECT_EQ(Layout::descriptor(malloc()), Layout::descriptor(all[0][0]));
    const MichaelBlocks::Audit now = audit();
    EXPECT_EQ(now.retired, 1u);
    EXPECT_EQ(now.full, 2u);
}

/// Whichever of a queue become empty.
TEST_F(MichaelBlocks, NoMoreThanHalfOfAQueueIsEmpty) {
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
        std::map<MichaelSuperblock *, std::vector<void *>> partial;
        const auto count = static_cast<unsigned>(2 + random() % 20);
        std::vector<std::vector<void *>> all = fill_and_free_one_each(count + 1, 32_KiB);
        for (const auto &blocks : all) {
            partial[Layout::descriptor(blocks[0])] = blocks;
        }
        for (unsigned i = 0; i < count; ++i) { // the last of the queue, or any one
            std::vector<MichaelSuperblock *> queue;
            heap_.places().for_each(
                [](auto...) {}, [&](unsigned, MichaelSuperblock &s) { queue.push_back(&s); }, [](auto &) {});
            std::erase_if(queue, [](MichaelSuperblock *s) { return s->is_empty(); });
            free_all(partial[round % 2 == 0 ? queue.back() : queue[random() % queue.size()]]);
            const MichaelBlocks::Audit now = audit();
            ASSERT_LE(2 * now.empty_and_not_retired, now.queued);
        }
        free_all(all.back());
        ASSERT_EQ(audit().superblocks, audit().retired);
    }
}

/// Who has freed the last block was delayed: the superblock was retired and came back, to the same slot.
TEST_F(MichaelBlocks, WhatHasComeBackWithLiveBlocksIsNotRetired) {
    std::vector<void *> blocks = fill();
    heap_.free(blocks.back());
    blocks.pop_back();
    MichaelSuperblock &superblock = *Layout::descriptor(blocks[0]);
    ASSERT_EQ(superblock.look().state, MichaelState::partial);
    heap_.places().drop(superblock, 0, size_class);
    MichaelBlocks::Audit now = audit();
    EXPECT_EQ(now.retired, 0u);
    EXPECT_EQ(now.in_slots, 1u);
    EXPECT_EQ(Layout::descriptor(malloc()), &superblock);
}

TEST_F(MichaelLimits, WhenMemoryEndsTheAnswerIsNullptrAndABlockThatIsFreedIsFound) {
    std::vector<std::vector<void *>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(fill());
    }
    EXPECT_EQ(malloc(), nullptr);
    EXPECT_EQ(malloc(8), nullptr);
    heap_.free(all[1][5]);
    EXPECT_EQ(malloc(), all[1][5]);
    EXPECT_EQ(malloc(), nullptr);
    free_all(all[2]);
    EXPECT_NE(malloc(8), nullptr) << "another class has what became empty";
    EXPECT_EQ(audit().superblocks, 4u);
}

/// Superblocks that were in somebody's hands when they became empty, and are in slot or queue now.
TEST_F(MichaelLimits, WhenMemoryEndsEmptyOnesAreTakenOutOfSlotsAndQueues) {
    MichaelPlaces<OneHeap> &places = heap_.places();
    std::vector<std::vector<void *>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(fill());
        heap_.free(all.back().back());
        all.back().pop_back();
        ASSERT_EQ(places.get(0, size_class), Layout::descriptor(all.back()[0]));
    }
    const auto put = [&](unsigned i) { places.put(*Layout::descriptor(all[i][0])); };
    MichaelSuperblock &empty = *Layout::descriptor(all[2][0]);
    free_all(all[2]);
    EXPECT_EQ(empty.look().state, MichaelState::empty);
    EXPECT_EQ(malloc(8), nullptr) << "all are in somebody's hands";

    put(0);
    put(1);
    places.put(empty);
    put(3); // slot: 3, queue: 0 1 2
    ASSERT_EQ(audit().empty_and_not_retired, 1u);
    EXPECT_EQ(Layout::descriptor(malloc(32_KiB)), &empty) << "behind two that are not";
    EXPECT_EQ(audit().queued, 2u);
    EXPECT_NE(malloc(32_KiB), nullptr);
    EXPECT_EQ(malloc(32_KiB), nullptr);

    MichaelSuperblock &other = *Layout::descriptor(all[3][0]);
    ASSERT_EQ(places.get(0, size_class), &other);
    free_all(all[3]);
    places.put(other);
    ASSERT_EQ(audit().empty_and_not_retired, 1u);
    EXPECT_EQ(Layout::descriptor(malloc(32_KiB)), &other) << "in the slot";
    for (const unsigned i : {0u, 1u}) {
        free_all(all[i]);
    }
}

TEST_F(MichaelBlocks, MoreFreesThanBlocksAreCaught) {
    if constexpr (platform::checked) {
        std::vector<void *> blocks = fill();
        void *const p = blocks[0];
        heap_.free(blocks.back());
        blocks.pop_back();
        free_all(blocks);
        EXPECT_DEATH(heap_.free(p), "more blocks were freed than there are");
    }
}

TEST_F(MichaelBlocks, StatisticsAgreeWithTheAudit) {
    std::mt19937 random(2);
    std::vector<void *> blocks(3000);
    for (int i = 0; i < 20000; ++i) {
        void *&p = blocks[random() % blocks.size()];
        if (p != nullptr) {
            heap_.free(p);
        }
        p = malloc(random() % 700);
    }
    Statistics now;
    heap_.statistics(now);
    MichaelBlocks::Audit found = audit();
    std::uint64_t live = 0;
    std::uint64_t bytes = 0;
    for (unsigned c = 0; c < now.size_classes; ++c) {
        live += now.by_class[c].live_blocks;
        bytes += now.by_class[c].live_blocks * now.by_class[c].block_size;
    }
    EXPECT_EQ(live, found.live);
    EXPECT_EQ(live, static_cast<std::uint64_t>(
                        std::count_if(blocks.begin(), blocks.end(), [](void *p) { return p != nullptr; })));
    EXPECT_EQ(now.live(), bytes);
    EXPECT_EQ(now.superblocks_fresh, found.superblocks);
    EXPECT_EQ(now.superblocks + found.retired + found.empty_and_not_retired, found.superblocks);
    for (void *const p : blocks) {
        heap_.free(p != nullptr ? p : malloc(8));
    }
    now = {};
    heap_.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(audit().full, 0u);
}

TEST(MichaelHeap, WhatIsFreedServesTheSameRequestsAndOthers) {
    using Small = MichaelSmallHeap<test::TinyMichaelParameters>;
    Small heap;
    std::mt19937 random(1);
    std::size_t most = 0;
    for (int round = 0; round < 8; ++round) {
        std::vector<void *> blocks(1000);
        for (void *&p : blocks) {
            p = heap.malloc(round % 2 == 0 ? 512 : 1 + random() % 512);
            ASSERT_NE(p, nullptr);
            std::memset(p, 0xff, heap.getSize(p));
        }
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (void *const p : blocks) {
            heap.free(p);
        }
        const test::MichaelAudit<Small> audit(heap);
        EXPECT_EQ(audit.live, 0u);
        EXPECT_EQ(audit.full, 0u);
        most = round == 0 ? audit.superblocks : most;
        EXPECT_LE(audit.superblocks, most + 10 * 3) << "more than one left active in each heap and class";
    }
}

TEST(MichaelHeap, BlocksAreAlignedToTheirSizeAndLargeOnesKeepTheirContents) {
    Michael<> heap;
    for (std::size_t bytes = 8; bytes <= 32_KiB; bytes *= 2) {
        for (int i = 0; i < 3; ++i) {
            void *const p = heap.malloc(bytes);
            EXPECT_TRUE(is_aligned(p, bytes));
            EXPECT_EQ(heap.getSize(p), bytes);
        }
    }
    auto *p = static_cast<unsigned char *>(heap.malloc(30'000));
    std::memset(p, 7, 30'000);
    p = static_cast<unsigned char *>(heap.reallocate(p, 300'000));
    EXPECT_TRUE(p[0] == 7 && p[29'999] == 7);
    p = static_cast<unsigned char *>(heap.reallocate(p, 20));
    EXPECT_EQ(heap.getSize(p), 32u);
    EXPECT_EQ(p[19], 7);
    EXPECT_TRUE(is_aligned(heap.memalign(4_MiB, 10), 4_MiB));
}

} // namespace
} // namespace cairn
