// SPDX-License-Identifier: MIT
//
// NBmalloc's flat-sets, moves and groups: one by one, with a thread that stops after each step of a move, under
// threads; and what a heap of them does with full sets and with what is freed.
#include "nbmalloc_audit.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <latch>
#include <optional>
#include <random>
#include <thread>

namespace cairn {
namespace {

using Layout = NbLayout<64_KiB>;
using Reference = Layout::Reference;
constexpr std::uint32_t slots = 8;
using Set = NbFlatSet<Reference, slots>;

/// Three sets, and the slot outside.
struct Places {
    using Layout = NbLayout<64_KiB>;
    static constexpr NbLocation outside = 1000;
    static constexpr NbLocation at(unsigned set, std::uint32_t slot) { return 1 + set * slots + slot; }

    Set sets[3]{};

    std::atomic<std::uint64_t> &slot(NbSuperblock &superblock, NbLocation location) {
        return location == outside ? superblock.outside
                                   : sets[(location - 1) / slots].slot((location - 1) % slots);
    }
    void announce(NbLocation location) {
        if (location != outside) {
            sets[(location - 1) / slots].announce((location - 1) % slots);
        }
    }
};

struct Pause {
    static void after(NbStep step) {
        if (hook) {
            hook(step);
        }
    }
    static inline thread_local std::function<void(NbStep)> hook;
};
using Mover = NbMover<Places, Pause>;

class NbmallocMove : public testing::Test {
protected:
    NbSuperblock &fresh() {
        NbSuperblock *const superblock = segments_.take();
        superblock->outside.store(Reference{Layout::memory(superblock), 1}.bits());
        superblock->moves.set_alone(NbMove{Places::outside, 1, nb_nowhere, 0}.word());
        all_.push_back(superblock);
        return *superblock;
    }

    NbMoved insert(NbSuperblock &superblock, NbLocation from, unsigned set) {
        return places_.sets[set].insert(slots, [&](std::uint32_t slot, std::uint64_t version) {
            return Mover::move(places_, superblock, from, Places::at(set, slot), version);
        });
    }

    NbMove now(NbSuperblock &superblock) { return NbMove::of(superblock.moves.load()); }

    std::uint64_t version(NbLocation location) {
        return Reference::of_bits(places_.slot(*all_[0], location).load()).tag();
    }

    /// Each superblock is where its mv_info says, and nowhere else; sets that have one are not marked empty.
    void audit() {
        for (NbSuperblock *const superblock : all_) {
            const NbMove at = now(*superblock);
            EXPECT_FALSE(at.under_way());
            int references = 0;
            for (unsigned set = 0; set < 3; ++set) {
                for (std::uint32_t i = 0; i < slots; ++i) {
                    const auto reference = Reference::of_bits(places_.sets[set].slot(i).load());
                    if (reference.pointer() == Layout::memory(superblock)) {
                        ++references;
                        EXPECT_EQ(Places::at(set, i), at.from);
                        EXPECT_EQ(reference.tag(), at.from_version);
                        Set::Found found;
                        EXPECT_FALSE(places_.sets[set].is_marked_empty());
                        EXPECT_TRUE(places_.sets[set].get_any(found));
                    }
                }
            }
            references += Reference::of_bits(superblock->outside.load()).is_null() ? 0 : 1;
            EXPECT_EQ(references, 1);
        }
    }

    family::Segments<Layout> segments_;
    Places places_;
    std::vector<NbSuperblock *> all_;
};

TEST_F(NbmallocMove, DescriptorsAndMemoryFindEachOther) {
    for (int i = 0; i < 100; ++i) {
        NbSuperblock &superblock = fresh();
        char *const memory = Layout::memory(&superblock);
        EXPECT_TRUE(is_aligned(memory, 64_KiB));
        EXPECT_FALSE(is_aligned(memory, Layout::segment));
        EXPECT_EQ(Layout::descriptor(memory), &superblock);
        EXPECT_EQ(Layout::descriptor(memory + 64_KiB - 1), &superblock);
    }
}

TEST_F(NbmallocMove, GoesFromSlotToSlot) {
    NbSuperblock &superblock = fresh();
    EXPECT_EQ(insert(superblock, Places::outside, 0), NbMoved::done);
    EXPECT_EQ(now(superblock).from, Places::at(0, 0));
    audit();
    EXPECT_EQ(insert(superblock, Places::outside, 1), NbMoved::by_another) << "it is not outside any more";
    EXPECT_EQ(insert(superblock, Places::at(0, 0), 1), NbMoved::done);
    audit();
    NbSuperblock &second = fresh();
    EXPECT_EQ(Mover::move(places_, second, Places::outside, Places::at(1, 0), 0), NbMoved::place_is_taken);
    EXPECT_EQ(now(second).from, Places::outside) << "it stays where it was";
    audit();
}

TEST_F(NbmallocMove, AnOldVersionOfAnEmptySlotIsNotFilled) {
    NbSuperblock &first = fresh();
    NbSuperblock &second = fresh();
    const std::uint64_t old = version(Places::at(0, 0));
    EXPECT_EQ(insert(first, Places::outside, 0), NbMoved::done);
    EXPECT_EQ(insert(first, Places::at(0, 0), 1), NbMoved::done);
    EXPECT_EQ(Mover::move(places_, second, Places::outside, Places::at(0, 0), old), NbMoved::place_is_taken);
    audit();
}

/// A thread finds the superblock in a slot, sees that slot empty, and moves when the superblock is back.
TEST_F(NbmallocMove, ASlotIsNoPlaceToMoveToFromItself) {
    NbSuperblock &superblock = fresh();
    EXPECT_EQ(insert(superblock, Places::outside, 0), NbMoved::done);
    EXPECT_EQ(insert(superblock, Places::at(0, 0), 1), NbMoved::done);
    const std::uint64_t empty = version(Places::at(0, 0));
    EXPECT_EQ(insert(superblock, Places::at(1, 0), 0), NbMoved::done);
    EXPECT_EQ(Mover::move(places_, superblock, Places::at(0, 0), Places::at(0, 0), empty),
              NbMoved::by_another);
    audit();
}

TEST_F(NbmallocMove, SetsKnowWhenTheyAreEmptyAndFull) {
    Set &set = places_.sets[0];
    Set::Found found;
    EXPECT_FALSE(set.get_any(found));
    EXPECT_TRUE(set.is_marked_empty());
    for (std::uint32_t i = 0; i < slots; ++i) {
        EXPECT_EQ(insert(fresh(), Places::outside, 0), NbMoved::done);
        EXPECT_FALSE(set.is_marked_empty());
        EXPECT_TRUE(set.get_any(found));
    }
    EXPECT_EQ(insert(fresh(), Places::outside, 0), NbMoved::place_is_taken);
    audit();
    for (std::uint32_t i = 0; i < slots; ++i) {
        ASSERT_TRUE(set.get_any(found));
        NbSuperblock &superblock = *Layout::descriptor(found.reference.pointer());
        EXPECT_EQ(insert(superblock, Places::at(0, found.slot), 1), NbMoved::done);
    }
    EXPECT_FALSE(set.get_any(found));
    EXPECT_TRUE(set.is_marked_empty());
    audit();
}

/// A thread stops after a step of its move. Others take the superblock on, and put another one into its place or not.
/// Then the thread goes on, and must change nothing.
TEST_F(NbmallocMove, AThreadThatStoppedAtAnyStepBlocksNobodyAndBreaksNothing) {
    for (const NbStep step : {NbStep::registered, NbStep::placed, NbStep::announced, NbStep::cleared}) {
        for (const int scenario : {0, 1, 2, 3}) {
            SCOPED_TRACE(static_cast<int>(step) * 10 + scenario);
            NbSuperblock &superblock = fresh();
            ASSERT_EQ(insert(superblock, now(superblock).from, 0), NbMoved::done);
            const NbLocation from = now(superblock).from;
            const NbLocation to = Places::at(1, 0);
            const std::uint64_t empty = version(to);
            std::latch stopped(1);
            std::latch go_on(1);
            std::optional<NbMoved> result;
            std::thread thread([&] {
                Pause::hook = [&](NbStep now) {
                    if (now == step) {
                        stopped.count_down();
                        go_on.wait();
                    }
                };
                result = Mover::move(places_, superblock, from, to, empty);
            });
            stopped.wait();

            EXPECT_EQ(Mover::settled(places_, superblock).from, to) << "a helper ends the move";
            Set::Found found;
            EXPECT_TRUE(places_.sets[1].get_any(found));
            if (scenario > 0) { // away, so that `to` is empty again
                EXPECT_EQ(insert(superblock, to, 2), NbMoved::done);
            }
            NbSuperblock *other = nullptr;
            if (scenario == 2) { // and taken by another one
                other = &fresh();
                EXPECT_EQ(Mover::move(places_, *other, Places::outside, to, version(to)), NbMoved::done);
            }
            if (scenario == 3) { // and back to where it came from
                EXPECT_EQ(insert(superblock, now(superblock).from, 0), NbMoved::done);
            }
            const NbMove before = now(superblock);
            go_on.count_down();
            thread.join();
            EXPECT_TRUE(result == NbMoved::done || result == NbMoved::place_is_taken);
            EXPECT_EQ(now(superblock), before) << "the late thread has changed something";
            audit();
            for (NbSuperblock *const one : {&superblock, other}) { // all out of the way
                if (one != nullptr) {
                    const auto outside = Reference::of_bits(one->outside.load());
                    EXPECT_EQ(Mover::move(places_, *one, now(*one).from, Places::outside, outside.tag()),
                              NbMoved::done);
                }
            }
        }
    }
}

TEST_F(NbmallocMove, ThreadsLoseNoneAndHaveNoneTwice) {
    for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(insert(fresh(), Places::outside, static_cast<unsigned>(i) % 3), NbMoved::done);
    }
    std::vector<std::thread> threads;
    std::atomic<int> moves{0};
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::minstd_rand random(t + 1);
            if (t % 2 == 0) { // gives way in the middle of moves, so that others must help
                Pause::hook = [&](NbStep) {
                    if (random() % 16 == 0) {
                        std::this_thread::yield();
                    }
                };
            }
            for (int i = 0; i < (platform::sanitized ? 4000 : 40000); ++i) {
                const auto set = static_cast<unsigned>(random() % 3);
                Set::Found found;
                if (places_.sets[set].get_any(found)) {
                    NbSuperblock &superblock = *Layout::descriptor(found.reference.pointer());
                    const auto target = static_cast<unsigned>(random() % 3);
                    moves += insert(superblock, Places::at(set, found.slot), target) == NbMoved::done ? 1 : 0;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_GT(moves.load(), 0);
    audit();
}

using Keeper = NbKeeper<NbmallocParameters>;
using Groups = Keeper::Groups;
using Where = Keeper::Where;

TEST(NbmallocGroups, FollowSectionSix) {
    static_assert(Groups::group_of(0, 64) == 0 && Groups::group_of(15, 64) == 0 &&
                  Groups::group_of(16, 64) == 1);
    static_assert(Groups::group_of(63, 64) == 3 && Groups::group_of(64, 64) == 3);
    // A quarter of a group's width is 4 of 64 blocks.
    static_assert(!Groups::misplaced({1, 0}, 20, 64) && Groups::misplaced({1, 0}, 21, 64));
    static_assert(!Groups::misplaced({1, 1}, 12, 64) && Groups::misplaced({1, 1}, 11, 64));
    static_assert(!Groups::misplaced({1, 1}, 36, 64) && Groups::misplaced({1, 1}, 37, 64));
    static_assert(!Groups::misplaced({1, 3}, 44, 64) && Groups::misplaced({1, 3}, 43, 64));
    static_assert(!Groups::misplaced({1, 3}, 64, 64) && !Groups::misplaced({1, 0}, 0, 64));
    // Almost empty: to the global heap. Full and outside: stays there until a block is free.
    static_assert(Groups::target({5, 1}, 11, 64).heap == 0 && Groups::target({5, 2}, 20, 64).heap == 5);
    constexpr unsigned outside = Keeper::Places::no_group;
    static_assert(!Groups::misplaced({5, outside}, 64, 64) && Groups::misplaced({5, outside}, 63, 64));
    static_assert(Groups::target({5, outside}, 63, 64).heap == 5 &&
                  Groups::target({5, outside}, 63, 64).group == 3);
}

TEST(NbmallocPlaces, NumbersAreNamesOfSlots) {
    using P = Keeper::Places;
    for (const unsigned heap : {0u, 1u, P::heaps - 1}) {
        for (unsigned group = 0; group < P::groups; ++group) {
            const NbLocation location = P::location(heap, P::classes - 1, group, 4092);
            EXPECT_NE(location, nb_nowhere);
            EXPECT_EQ(P::where(location).heap, heap);
            EXPECT_EQ(P::where(location).group, group);
        }
        EXPECT_EQ(P::where(P::outside(heap)).heap, heap);
        EXPECT_EQ(P::where(P::outside(heap)).group, P::no_group);
    }
    EXPECT_EQ(sizeof(P::Set), 32_KiB);
}

template <class Parameters>
std::size_t superblocks_of(Nbmalloc<Parameters> &heap) {
    Statistics now;
    heap.statistics(now);
    return now.superblocks;
}

/// Every set is full, over and over: no block and no superblock is lost.
TEST(NbmallocHeap, FullSetsLoseNothing) {
    Nbmalloc<test::TinyNbmallocParameters> heap;
    std::mt19937 random(1);
    std::size_t most = 0;
    for (int round = 0; round < 4; ++round) {
        std::vector<void *> blocks(1000); // some 120 superblocks, where 13 find a place in the sets
        for (void *&p : blocks) {
            p = heap.malloc(512);
            ASSERT_NE(p, nullptr);
        }
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (void *const p : blocks) {
            heap.free(p);
        }
        test::NbAudit<test::TinyNbmallocParameters> audit(heap);
        EXPECT_GT(audit.free_and_outside, 0u);
        most = round == 0 ? superblocks_of(heap) : most;
        EXPECT_EQ(superblocks_of(heap), most) << "the same requests again took more memory";
    }
}

TEST(NbmallocHeap, ALittleAllocatorNeedsOneSuperblock) {
    Nbmalloc<> heap;
    for (int i = 0; i < 10000; ++i) {
        heap.free(heap.malloc(48));
    }
    EXPECT_EQ(superblocks_of(heap), 1u);
}

struct ManyHeaps : NbmallocParameters {
    static constexpr unsigned processors = 16;
};

/// Section 3: what one thread has freed becomes almost empty and goes to the global heap, where others find it.
TEST(NbmallocHeap, AlmostEmptySuperblocksServeOtherHeaps) {
    Nbmalloc<ManyHeaps> heap;
    std::size_t first = 0;
    const std::function<void(int)> work = [&](int more) {
        std::vector<void *> blocks(20000);
        for (void *&p : blocks) {
            p = heap.malloc(200);
        }
        for (void *const p : blocks) {
            heap.free(p);
        }
        first = first == 0 ? superblocks_of(heap) : first;
        if (more > 0) { // while this thread lives, so that the next one has another id
            std::thread(work, more - 1).join();
        }
    };
    work(20);
    EXPECT_LE(superblocks_of(heap), first + 16) << "one may stay behind in each heap";
    test::NbAudit<ManyHeaps> audit(heap);
    EXPECT_GE(audit.in_global, first - 1);
}

TEST(NbmallocHeap, BlocksAreAlignedToTheirSize) {
    Nbmalloc<> heap;
    for (std::size_t size = 8; size <= 32_KiB; size *= 2) {
        for (int i = 0; i < 3; ++i) {
            void *const p = heap.malloc(size);
            EXPECT_TRUE(is_aligned(p, size));
            EXPECT_EQ(heap.getSize(p), size);
        }
    }
}

TEST(NbmallocHeap, LargeBlocksGrowAndShrinkWithTheirContents) {
    Nbmalloc<> heap;
    std::vector<void *> others;
    auto *p = static_cast<unsigned char *>(heap.malloc(100'000));
    for (std::size_t size = 100'000; size < 200_MiB; size *= 3) {
        std::memset(p, static_cast<int>(size % 251), size);
        others.push_back(heap.malloc(50'000)); // in the way
        p = static_cast<unsigned char *>(heap.reallocate(p, size * 3));
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(heap.getSize(p) >= size * 3 && p[0] == size % 251 && p[size - 1] == size % 251);
        p = static_cast<unsigned char *>(heap.reallocate(p, size * 2));
        EXPECT_TRUE(heap.getSize(p) < size * 2 + 64_KiB && p[size - 1] == size % 251);
        EXPECT_EQ(heap.reallocate(p, std::size_t{1} << 62), nullptr);
        EXPECT_EQ(p[size / 2], size % 251) << "it is as it was";
        p = static_cast<unsigned char *>(heap.reallocate(p, size * 3));
    }
    p = static_cast<unsigned char *>(heap.reallocate(p, 20));
    EXPECT_EQ(heap.getSize(p), 32u);
    heap.free(p);
    for (void *const other : others) {
        heap.free(other);
    }
    Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(now.huge_live_blocks, 0u);
}

} // namespace
} // namespace cairn
