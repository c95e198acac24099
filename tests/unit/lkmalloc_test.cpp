// SPDX-License-Identifier: MIT
//
// LKmalloc: bins, the order of lists, splitting, coalescing in each direction, pages and stripes that come and go, the
// subheaps of threads; and neighbours that are freed at the same time, with the whole heap looked over afterwards.
#include "lkmalloc_walk.hpp"
#include "process_memory.hpp"

#include <allocators/dl_locallocks.hpp>

#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;
using test::expect_all_free;
using test::walk;

namespace {

struct OneSubheap : LkmallocParameters {
    static constexpr unsigned subheaps = 1;
};
/// As the document has it, but for the length of addresses.
struct EightBytes : OneSubheap {
    static constexpr std::size_t alignment = 8;
};
struct SmallStripes : OneSubheap {
    static constexpr std::size_t stripe = 256_KiB;
};
struct SmallStripesOfThree : SmallStripes {
    static constexpr unsigned subheaps = 3;
};

template <class H>
char *get(H &heap, std::size_t size) {
    auto *const p = static_cast<char *>(heap.malloc(size));
    EXPECT_NE(p, nullptr);
    std::memset(p, 0x5a, size);
    return p;
}

TEST(LkmallocBins, AreTheDocuments) {
    using Bins = lkmalloc::Bins<8, 128>;
    for (std::size_t size = 8; size <= 512; size += 8) {
        EXPECT_EQ(Bins::of(size), size / 8 - 1);
        EXPECT_EQ(Bins::smallest_of(Bins::of(size)), size);
        EXPECT_LT(Bins::of(size), Bins::exact);
    }
    EXPECT_EQ(Bins::of(520), 64u);
    EXPECT_EQ(Bins::of(576), 64u) << "64 bytes apart";
    EXPECT_EQ(Bins::of(584), 65u);
    EXPECT_EQ(Bins::smallest_of(96) - Bins::smallest_of(95), 64u);
    EXPECT_EQ(Bins::smallest_of(97) - Bins::smallest_of(96), 512u);
    EXPECT_EQ(Bins::of(4_MiB), 127u);
    static_assert(lkmalloc::FreeLists<LkmallocParameters>::Sizes::largest_exact == 1024);
}

TEST(LkmallocBins, RiseWithTheSize) {
    using Bins = lkmalloc::Bins<16, 128>;
    unsigned last = 0;
    for (std::size_t size = 16; size <= 8_MiB; size += 16) {
        const unsigned bin = Bins::of(size);
        ASSERT_TRUE(bin == last || bin == last + 1) << size;
        ASSERT_GE(size, Bins::smallest_of(bin));
        last = bin;
    }
}

template <class H>
class LkmallocBlocks : public testing::Test {};
using Alignments = testing::Types<Lkmalloc<OneSubheap>, Lkmalloc<EightBytes>, DlLocallocks<>>;
TYPED_TEST_SUITE(LkmallocBlocks, Alignments);

TYPED_TEST(LkmallocBlocks, AreSplitOffOneBehindTheOther) {
    auto heap = std::make_unique<TypeParam>();
    constexpr std::size_t alignment = TypeParam::alignment;
    const char *const a = get(*heap, 40);
    const char *const b = get(*heap, 100);
    const char *const c = get(*heap, 1);
    EXPECT_EQ(b - a, static_cast<std::ptrdiff_t>(align_up(40 + 8, alignment)))
        << "eight bytes of tags a block";
    EXPECT_EQ(c - b, static_cast<std::ptrdiff_t>(align_up(100 + 8, alignment)));
    EXPECT_EQ(heap->getSize(const_cast<char *>(b)), align_up(108, alignment) - 8);
    const test::Walk seen = walk(*heap);
    EXPECT_EQ(seen.stripes, 1u);
    EXPECT_EQ(seen.busy_blocks, 3u);
    EXPECT_EQ(seen.free_blocks, 1u);
}

TYPED_TEST(LkmallocBlocks, AreJoinedAtOnceInEachDirection) {
    // The order in which three neighbours are freed, and the free blocks after each step. A fourth one keeps them from
    // the rest of the stripe, which is one free block more.
    struct Case {
        int order[3];
        std::size_t free_blocks[3];
    };
    for (const auto &[order, free_blocks] : {
             Case{{0, 1, 2}, {2, 2, 2}}, // with the left one
             Case{{2, 1, 0}, {2, 2, 2}}, // with the right one
             Case{{0, 2, 1}, {2, 3, 2}}, // with both
             Case{{1, 0, 2}, {2, 2, 2}},
         }) {
        auto heap = std::make_unique<TypeParam>();
        char *blocks[4];
        for (char *&block : blocks) {
            block = get(*heap, 500);
        }
        for (int step = 0; step < 3; ++step) {
            heap->free(blocks[order[step]]);
            EXPECT_EQ(walk(*heap).free_blocks, free_blocks[step]) << "step " << step;
        }
        EXPECT_EQ(get(*heap, 3 * 500), blocks[0]) << "one block of their three";
        heap->free(blocks[0]);
        heap->free(blocks[3]);
        expect_all_free(*heap);
    }
}

TYPED_TEST(LkmallocBlocks, OfTheSmallestThatFitsAreTakenFirst) {
    auto heap = std::make_unique<TypeParam>();
    char *const large = get(*heap, 5000);
    char *const between = get(*heap, 8);
    char *const small = get(*heap, 200);
    char *const behind = get(*heap, 8);
    heap->free(small);
    heap->free(large);
    EXPECT_EQ(get(*heap, 200), small) << "of its own size";
    EXPECT_EQ(get(*heap, 200), large) << "split off the next longer one";
    EXPECT_EQ(walk(*heap).free_blocks, 2u);
    for (char *p : {small, large, between, behind}) {
        heap->free(p);
    }
    expect_all_free(*heap);
}

TYPED_TEST(LkmallocBlocks, AtAlignedPlacesLeaveTheirSurroundingsFree) {
    auto heap = std::make_unique<TypeParam>();
    for (std::size_t alignment = 32; alignment <= 32_MiB; alignment *= 2) {
        void *const before = get(*heap, 24);
        void *const p = heap->memalign(alignment, 100);
        ASSERT_TRUE(is_aligned(p, alignment));
        if (alignment <= 1_MiB) {
            EXPECT_LE(heap->getSize(p), 100u + 2 * 32) << "the rest was split off";
        }
        walk(*heap);
        heap->free(before);
        heap->free(p);
        expect_all_free(*heap);
    }
}

/// Five blocks of one size with live ones between them.
template <class H>
std::vector<char *> apart(H &heap, std::size_t size) {
    std::vector<char *> blocks;
    for (int i = 0; i < 5; ++i) {
        blocks.push_back(get(heap, size));
        get(heap, 8);
    }
    return blocks;
}

TEST(LkmallocLists, HandOutTheLastFreedBlockFirst) {
    for (const std::size_t size : {std::size_t{40}, std::size_t{3000}}) {
        auto heap = std::make_unique<Lkmalloc<OneSubheap>>();
        const std::vector<char *> blocks = apart(*heap, size);
        for (char *p : blocks) {
            heap->free(p);
        }
        for (auto p = blocks.rbegin(); p != blocks.rend(); ++p) {
            EXPECT_EQ(get(*heap, size), *p);
        }
    }
}

TEST(LkmallocLists, AreQueuesInLeas) {
    auto heap = std::make_unique<DlLocallocks<>>();
    const std::vector<char *> blocks = apart(*heap, 40);
    for (char *p : blocks) {
        heap->free(p);
    }
    for (char *p : blocks) {
        EXPECT_EQ(get(*heap, 40), p);
    }
}

/// Sizes of one coarse bin, freed in no order.
TEST(LkmallocLists, AreSortedInLeasAndNotInLkmallocs) {
    const auto reused = [](auto &heap) {
        constexpr std::size_t sizes[] = {50000, 48000, 52000, 46000};
        char *blocks[4];
        for (int i = 0; i < 4; ++i) {
            blocks[i] = get(heap, sizes[i]);
            get(heap, 8);
        }
        for (char *p : blocks) {
            heap.free(p);
        }
        const char *const p = get(heap, 47500);
        return std::find(blocks, blocks + 4, p) - blocks;
    };
    EXPECT_EQ(reused(*std::make_unique<DlLocallocks<>>()), 1) << "the best fit";
    EXPECT_EQ(reused(*std::make_unique<Lkmalloc<OneSubheap>>()), 2) << "the last freed one that fits";
}

TEST(LkmallocPages, AreCommittedByTouchAndDecommittedInFreeBlocksOverTwoPages) {
    const std::size_t page = platform::vm::page_size();
    auto heap = std::make_unique<Lkmalloc<OneSubheap>>();
    char *const stripe = get(*heap, 8) - LkmallocParameters::alignment;
    ASSERT_TRUE(is_aligned(stripe, 4_MiB));
    EXPECT_LE(test::resident(stripe, 4_MiB), 3 * page) << "of a new stripe: the pages with tags";

    char *const block = get(*heap, 16 * page);
    get(*heap, 8);
    const std::size_t with_block = test::resident(stripe, 4_MiB);
    EXPECT_GE(with_block, 16 * page);
    heap->free(block);
    EXPECT_LE(test::resident(stripe, 4_MiB), with_block - 14 * page)
        << "all whole pages but those with links and tags";

    Statistics now;
    heap->statistics(now);
    EXPECT_EQ(now.purges, 1u);
    EXPECT_GE(now.purged, 14 * page);

    char *const short_one = get(*heap, 2 * page - 2 * lkmalloc::tags_bytes);
    ASSERT_EQ(short_one, block);
    const std::size_t with_short_one = test::resident(stripe, 4_MiB);
    get(*heap, 14 * page - 200); // the rest of the free block is in use
    const std::size_t before = test::resident(stripe, 4_MiB);
    EXPECT_GT(before, with_short_one);
    heap->free(short_one);
    EXPECT_EQ(test::resident(stripe, 4_MiB), before) << "not over two pages";
}

/// Blocks that are freed one by one into a long free block: each page is asked for once.
TEST(LkmallocPages, AreDecommittedOnce) {
    const std::size_t page = platform::vm::page_size();
    for (const bool forward : {true, false}) {
        auto heap = std::make_unique<Lkmalloc<OneSubheap>>();
        std::vector<char *> blocks;
        for (std::size_t bytes = 0; bytes < 64 * page; bytes += 240) {
            blocks.push_back(get(*heap, 232));
        }
        char *const stripe = blocks[0] - LkmallocParameters::alignment;
        if (!forward) {
            std::reverse(blocks.begin(), blocks.end());
        }
        for (char *p : blocks) {
            heap->free(p);
        }
        Statistics now;
        heap->statistics(now);
        EXPECT_GE(now.purged, 60 * page);
        EXPECT_LE(now.purged, 70 * page);
        EXPECT_LE(now.purges, 70u);
        EXPECT_LE(test::resident(stripe, 4_MiB), 3 * page);
        expect_all_free(*heap);
    }
}

TEST(LkmallocPages, AreKeptInLeas) {
    auto heap = std::make_unique<DlLocallocks<>>();
    char *const block = get(*heap, 64 * platform::vm::page_size());
    get(*heap, 8);
    heap->free(block);
    EXPECT_GE(test::resident(reinterpret_cast<void *>(align_down(address_of(block), 4_MiB)), 4_MiB),
              64 * platform::vm::page_size());
}

TEST(LkmallocStripes, TableKnowsWhoseTheyAre) {
    using Table = lkmalloc::StripeTable<4_MiB>;
    auto table = std::make_unique<Table>();
    const auto stripe = [](std::size_t i) { return reinterpret_cast<char *>(i * 4_MiB); };
    constexpr std::size_t last = (std::size_t{1} << platform::address_bits) / 4_MiB - 1;
    const std::set<std::size_t> taken{1, 2, 8191, 8192, 1'000'000, last};
    for (const std::size_t i : taken) {
        EXPECT_TRUE(table->set(stripe(i), static_cast<Table::Owner>(1 + i % 200)));
    }
    EXPECT_FALSE(table->set(stripe(last + 1), 1)) << "no address of this machine";
    for (const std::size_t i : taken) {
        EXPECT_EQ(table->owner_of(stripe(i)), 1 + i % 200);
        EXPECT_EQ(table->owner_of(stripe(i) + 4_MiB - 1), 1 + i % 200);
    }
    EXPECT_EQ(table->owner_of(stripe(3)), Table::nobody);
    std::set<std::size_t> seen;
    table->for_each([&](const char *start, Table::Owner) { seen.insert(address_of(start) / 4_MiB); });
    EXPECT_EQ(seen, taken);
    table->set(stripe(2), Table::nobody);
    EXPECT_EQ(table->owner_of(stripe(2)), Table::nobody);
}

TEST(LkmallocStripes, ComeOneAtATimeAndGoWhenFree) {
    auto heap = std::make_unique<Lkmalloc<SmallStripes>>();
    const auto stripes = [&] { return walk(*heap).stripes; };
    std::vector<char *> blocks;
    for (int i = 0; i < 10; ++i) {
        blocks.push_back(get(*heap, 200_KiB)); // one a stripe
        EXPECT_EQ(stripes(), blocks.size());
    }
    char *const first = reinterpret_cast<char *>(align_down(address_of(blocks[0]), 256_KiB));
    EXPECT_TRUE(test::mapped(first));
    heap->free(blocks[0]);
    EXPECT_FALSE(test::mapped(first));
    blocks.erase(blocks.begin());
    while (!blocks.empty()) {
        heap->free(blocks.back());
        blocks.pop_back();
        EXPECT_EQ(stripes(), std::max<std::size_t>(1, blocks.size())) << "the last one stays";
    }
    expect_all_free(*heap);
}

TEST(LkmallocStripes, HaveNoRoomForLongBlocks) {
    auto heap = std::make_unique<Lkmalloc<>>();
    char *const longest = get(*heap, 4_MiB - 24);
    EXPECT_EQ(walk(*heap).free_blocks, 0u) << "fills a stripe";
    char *const over = get(*heap, 4_MiB - 23);
    EXPECT_TRUE(is_aligned(over, 4_MiB));
    char *const huge = get(*heap, 50_MiB);
    EXPECT_EQ(heap->getSize(huge), 50_MiB);
    Statistics now;
    heap->statistics(now);
    EXPECT_EQ(now.huge_live_blocks, 2u);
    EXPECT_EQ(now.huge_live, 54_MiB);
    EXPECT_EQ(now.superblocks, 1u);
    for (char *p : {longest, over, huge}) {
        heap->free(p);
    }
    EXPECT_FALSE(test::mapped(huge));
    expect_all_free(*heap);
    EXPECT_EQ(heap->malloc(std::size_t{1} << 62), nullptr);
}

TEST(LkmallocSubheaps, AreThreads) {
    auto heap = std::make_unique<Lkmalloc<>>();
    std::vector<char *> blocks(64);
    std::barrier start(static_cast<std::ptrdiff_t>(blocks.size()));
    std::vector<std::jthread> threads;
    for (char *&block : blocks) {
        threads.emplace_back([&] {
            start.arrive_and_wait(); // all live at once, with 64 ids
            block = get(*heap, 100);
            start.arrive_and_wait();
        });
    }
    threads.clear();
    Statistics now;
    heap->statistics(now);
    EXPECT_GE(now.heaps, 7u) << "64 of them, hashed into ten";
    EXPECT_LE(now.heaps, 10u);
    for (char *block : blocks) {
        heap->free(block); // of any subheap
    }
    expect_all_free(*heap);
}

/// One thread at a time: two that come first to a subheap at the same moment would give it a stripe each.
TEST(LkmallocSubheaps, StayAThreadsOwn) {
    auto heap = std::make_unique<Lkmalloc<>>();
    for (int i = 0; i < 20; ++i) {
        std::jthread([&] {
            char *const one = get(*heap, 100);
            char *const other = get(*heap, 300);
            EXPECT_EQ(address_of(one) / 4_MiB, address_of(other) / 4_MiB);
            heap->free(one);
            heap->free(other);
        });
    }
    expect_all_free(*heap);
}

/// What a thread sees that puts a block while a neighbour's owner is doing the same, step by step.
class LkmallocOffers : public testing::Test {
protected:
    using Lists = lkmalloc::FreeLists<OneSubheap>;
    using State = lkmalloc::State;
    static constexpr std::size_t sizes[3] = {64, 96, 128}; // three lists, three locks

    /// Three neighbours between fences, all busy.
    LkmallocOffers() {
        for (std::size_t i = 0; i < 3; ++i) {
            set(i, State::busy);
        }
    }
    char *at(std::size_t i) { return memory_ + 16 + (i > 0 ? sizes[0] : 0) + (i > 1 ? sizes[1] : 0); }
    void set(std::size_t i, State state) { lkmalloc::set_tags(at(i), lkmalloc::Tag(sizes[i], state)); }
    State state(std::size_t i) { return lkmalloc::header_of(at(i)).state(); }
    bool put(std::size_t i) { return lists_.put(lkmalloc::dirty_block(at(i), sizes[i])); }

    Lists lists_;

private:
    alignas(16) char memory_[16 + sizes[0] + sizes[1] + sizes[2]]{};
};

TEST_F(LkmallocOffers, GiveWayToAFreeNeighbour) {
    EXPECT_TRUE(put(1));
    EXPECT_FALSE(put(0)) << "the right neighbour is to be taken first";
    EXPECT_FALSE(put(2)) << "the left one";
    EXPECT_EQ(state(0), State::busy);
    EXPECT_EQ(state(2), State::busy);
    EXPECT_EQ(lists_.take_before(at(1)), 0u) << "an offer that was withdrawn";
    EXPECT_EQ(lists_.take_at(at(1)), sizes[1]);
    EXPECT_EQ(state(1), State::busy);
    EXPECT_TRUE(put(0));
    EXPECT_TRUE(put(2)) << "not neighbours";
    EXPECT_EQ(lists_.take_before(at(1)), sizes[0]);
    EXPECT_EQ(lists_.take_at(at(2)), sizes[2]);
}

TEST_F(LkmallocOffers, GiveWayToAnOfferOnTheLeft) {
    set(0, State::offered);
    EXPECT_FALSE(put(1));
    EXPECT_EQ(state(1), State::busy);
}

TEST_F(LkmallocOffers, WaitForAnOfferOnTheRight) {
    for (const State outcome : {State::busy, State::free}) {
        set(1, State::offered);
        std::atomic<int> put_it{-1};
        std::jthread putter([&] { put_it = put(0); });
        while (state(0) != State::offered && put_it == -1) {
            platform::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_EQ(put_it, -1);
        EXPECT_EQ(state(0), State::offered);
        set(1, outcome);
        putter.join();
        EXPECT_EQ(put_it, outcome == State::busy);
        EXPECT_EQ(state(0), outcome == State::busy ? State::free : State::busy);
        if (outcome == State::busy) {
            lists_.take(sizes[0]);
        }
    }
}

/// Two threads that meet before each step and put neighbours: however they meet, one of them is put, and not both.
TEST_F(LkmallocOffers, OfTwoNeighboursOneIsFree) {
    const unsigned rounds = platform::sanitized ? 3000 : 20'000;
    std::atomic<unsigned> arrived{0};
    // acq_rel: what the one did before happens before what the other does after; acquire: pairs with it.
    const auto meet = [&](unsigned meeting) {
        arrived.fetch_add(1, std::memory_order_acq_rel);
        sync::BoundedSpin<200> wait;
        while (arrived.load(std::memory_order_acquire) < 2 * meeting) {
            wait.once();
        }
    };
    const auto put_one = [&](std::size_t i) {
        unsigned both_free = 0;
        unsigned none_free = 0;
        for (unsigned round = 0; round < rounds; ++round) {
            meet(3 * round + 1);
            put(i);
            meet(3 * round + 2);
            both_free += state(0) == State::free && state(1) == State::free;
            none_free += state(0) == State::busy && state(1) == State::busy;
            meet(3 * round + 3);
            if (state(i) == State::free) {
                lists_.take_at(at(i));
            }
        }
        EXPECT_EQ(both_free, 0u);
        EXPECT_EQ(none_free, 0u) << "who gives way does so to one that does not";
    };
    std::jthread other(put_one, 1);
    put_one(0);
}

/// Pairs of neighbours, one thread frees the left ones and another the right ones, as simultaneously as can be. Were
/// one join missed, there would be two free blocks.
template <class H>
void free_neighbours_at_once(H &heap, int rounds) {
    constexpr std::size_t pairs = 100;
    void *blocks[pairs][2];
    void *fences[pairs];
    std::barrier turn(2);
    const auto free_one_side = [&](std::size_t side) {
        for (auto &pair : blocks) {
            heap.free(pair[side]);
        }
    };
    std::jthread other([&] {
        for (int round = 0; round < rounds; ++round) {
            turn.arrive_and_wait();
            free_one_side(1);
            turn.arrive_and_wait();
        }
    });
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < pairs; ++i) {
            blocks[i][0] = heap.malloc(24);
            blocks[i][1] = heap.malloc(round % 2 == 0 ? 24 : 40 + i * 8);
            fences[i] = heap.malloc(1);
        }
        turn.arrive_and_wait();
        free_one_side(0);
        turn.arrive_and_wait();
        EXPECT_EQ(walk(heap).free_blocks, pairs + 1);
        for (void *p : fences) {
            heap.free(p);
        }
        expect_all_free(heap);
    }
}

TEST(LkmallocThreads, FreeNeighboursAtTheSameTime) {
    const int rounds = platform::sanitized ? 100 : 1000;
    free_neighbours_at_once(*std::make_unique<Lkmalloc<OneSubheap>>(), rounds);
    free_neighbours_at_once(*std::make_unique<DlLocallocks<>>(), rounds);
}

/// All at once: neighbours split, taken, joined, stripes that come and go, blocks of other subheaps.
TEST(LkmallocThreads, LeaveAWholeHeap) {
    constexpr std::size_t threads = 4;
    auto heap = std::make_unique<Lkmalloc<SmallStripesOfThree>>();
    std::vector<std::atomic<void *>> slots(300);
    for (int round = 0; round < 4; ++round) {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t) {
            workers.emplace_back([&, t] {
                std::mt19937_64 random(t + static_cast<std::size_t>(round) * 100);
                for (int i = 0; i < (platform::sanitized ? 2000 : 10000); ++i) {
                    const std::size_t size = random() % 8 != 0 ? random() % 600 : random() % 100'000;
                    void *p = random() % 8 != 0 ? heap->malloc(size) : heap->memalign(256, size);
                    ASSERT_NE(p, nullptr);
                    std::memset(p, static_cast<int>(t), size);
                    // acq_rel: hands the block to whoever takes it out of the slot.
                    p = slots[random() % slots.size()].exchange(p, std::memory_order_acq_rel);
                    if (p != nullptr) {
                        heap->free(p);
                    }
                }
            });
        }
        workers.clear();
        walk(*heap);
    }
    for (auto &slot : slots) {
        if (void *const p = slot.load(); p != nullptr) {
            heap->free(p);
        }
    }
    expect_all_free(*heap);
}

TEST(LkmallocThreads, MayForkWhileOthersAreInside) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer's runtime has locks of its own";
    }
    auto heap = std::make_unique<Lkmalloc<OneSubheap>>();
    std::atomic<bool> done{false};
    std::vector<std::jthread> workers;
    for (int t = 0; t < 3; ++t) {
        workers.emplace_back([&] {
            while (!done) {
                heap->free(heap->malloc(100));
            }
        });
    }
    for (int i = 0; i < 20; ++i) {
        heap->lock_all();
        const pid_t child = fork();
        heap->unlock_all(child == 0 ? sync::AfterFork::in_child : sync::AfterFork::in_parent);
        if (child == 0) {
            for (std::size_t size = 0; size < 5000; size += 37) {
                heap->free(heap->malloc(size));
            }
            _exit(0);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    done = true;
    workers.clear();
    expect_all_free(*heap);
}

TEST(LkmallocDebug, SeesADoubleFreeAndAnOverrun) {
    if (!platform::checked) {
        GTEST_SKIP() << "a debug build looks at the tags";
    }
    auto heap = std::make_unique<Lkmalloc<OneSubheap>>();
    char *const p = get(*heap, 40);
    char *const next = get(*heap, 40);
    const auto overrun = [&] {
        std::memset(next, 0x5a, heap->getSize(next) + 1);
        heap->free(next);
    };
    EXPECT_DEATH(overrun(), "which is not a live block, or was written past its end");
    const auto twice = [&] {
        heap->free(p);
        heap->free(p);
    };
    EXPECT_DEATH(twice(), "which is not a live block");
}

} // namespace
