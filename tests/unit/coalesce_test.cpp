// SPDX-License-Identifier: MIT
//
// What is special about the layers that hold, split and join blocks, and about those that choose among heaps.
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/fallback.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/core/archetype.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/static_buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

using namespace cairn;

namespace {

using Rich = Archetype<Capability::all>;
using Fine = GeometricSizeClasses<128_KiB, 1_KiB, 16>;
using Quick = MultipleClasses<24, 16, 63>;

/// The poorest heap whose blocks have boundary tags.
struct TaggedArchetype : Archetype<> {
    using SizeRecord = BoundaryTag;
    static std::size_t getSize(void *) { return 24; }
};
struct HoldingArchetype : TaggedArchetype {
    void remove(void *) {}
};
struct SplittingArchetype : TaggedArchetype {
    void *memalign(std::size_t, std::size_t) { return nullptr; }
    void *reallocate(void *, std::size_t) { return nullptr; }
};
struct MarkingArchetype : SplittingArchetype {
    static constexpr bool marked = true;
};
struct HeaderArchetype : Archetype<> {
    using SizeRecord = SizeHeaderWord;
    static std::size_t getSize(void *) { return 0; }
};

} // namespace

template class cairn::DictionaryHeap<Archetype<>>;
template class cairn::DictionaryHeap<Rich>;
template class cairn::CoalesceableHeap<Archetype<>>;
template class cairn::CoalesceableHeap<Rich, 4_KiB, true>;
template class cairn::CoalesceableHeap<StaticBufferHeap<1_KiB>>;
template class cairn::SegHeap<SelfSizedArchetype, Fine>;
template class cairn::CoalesceHeap<HoldingArchetype>;
template class cairn::CoalesceHeap<SegHeap<CoalesceableHeap<Archetype<>>, Quick>>; // classes from 24 bytes on
template class cairn::RoundedHeap<Archetype<>, Fine>;
template class cairn::RoundedHeap<Rich, Fine>;
template class cairn::AlignedHeaderHeap<HeaderArchetype>;
template class cairn::ThresholdHeap<SelfSizedArchetype, Quick, 512>;
template class cairn::SelectMappedHeap<SplittingArchetype, 1_KiB, MarkingArchetype>;
template class cairn::FallbackHeap<Archetype<Capability::owning>, Archetype<>>;
template class cairn::FallbackHeap<Archetype<>, Archetype<Capability::owning>>;
template class cairn::FallbackHeap<Rich, Rich>;

namespace {

using enum Capability;
static_assert(capabilities_of<DictionaryHeap<Archetype<>>> == none);
static_assert(capabilities_of<DictionaryHeap<Rich>> == (sized | owning | clearable));
static_assert(HoldingHeap<DictionaryHeap<Archetype<>>>);
static_assert(capabilities_of<CoalesceableHeap<Archetype<>>> == (sized | owning | clearable | aligned));
static_assert(capabilities_of<CoalesceableHeap<Rich>> == (sized | owning | clearable | aligned | zeroing));
static_assert(capabilities_of<CoalesceableHeap<StaticBufferHeap<1_KiB>>> == (sized | clearable));
static_assert(capabilities_of<SegHeap<SelfSizedArchetype, Fine>> == sized);
static_assert(capabilities_of<CoalesceHeap<HoldingArchetype>> == (sized | aligned | reallocating));
static_assert(capabilities_of<RoundedHeap<Archetype<>, Fine>> == none);
static_assert(capabilities_of<RoundedHeap<Rich, Fine>> ==
              (sized | owning | clearable | aligned | reallocating));
static_assert(capabilities_of<AlignedHeaderHeap<HeaderArchetype>> == (sized | aligned));
static_assert(capabilities_of<ThresholdHeap<SelfSizedArchetype, Quick, 512>> == sized);
static_assert(capabilities_of<SelectMappedHeap<SplittingArchetype, 1_KiB, MarkingArchetype>> ==
              (sized | aligned | reallocating | zeroing));
static_assert(capabilities_of<FallbackHeap<Archetype<owning>, Archetype<>>> == none);
static_assert(capabilities_of<FallbackHeap<Rich, Rich>> == (sized | owning | clearable | aligned));

static_assert(PowersOfTwo<>::count == 29 && PowersOfTwo<>::class_of(0) == 0 &&
              PowersOfTwo<>::class_of(9) == 1);
static_assert(PowersOfTwo<16, 4>::largest == 128 && PowersOfTwo<16, 4>::class_of(33) == 2);
static_assert(MultiplesOf8<64>::class_of(17) == 2 && MultiplesOf8<64>::size_of(7) == 64);
static_assert(Quick::count == 4 && Quick::largest == 72 && Quick::class_of(25) == 1);
static_assert(class_below<Fine>(47) == Fine::class_of(32) && class_below<Fine>(48) == Fine::class_of(48));
static_assert(class_below<Fine>(1_GiB) == Fine::count - 1);

/// Not inlined: where the compiler sees the heap's buffer, it takes words in it for the object's own.
CAIRN_NOINLINE BoundaryTag *tag_of(void *block) {
    return BoundaryTag::of(block);
}

using Splitting = Compose<StaticBufferHeap<64_KiB>, Coalesceable<16_KiB>, Seg<Fine>, Coalesce>;

TEST(BoundaryTag, WalksBothWays) {
    alignas(16) std::array<std::uint64_t, 32> memory{};
    auto *const first = reinterpret_cast<BoundaryTag *>(&memory[1]);
    first->start(224, false);
    first->next()->fence(224);
    BoundaryTag *const second = first->split(96);
    BoundaryTag *const third = second->split(64);
    EXPECT_EQ(first->next(), second);
    EXPECT_EQ(third->next(), reinterpret_cast<BoundaryTag *>(&memory[29]));
    EXPECT_TRUE(third->next()->is_fence() && third->next()->bytes() == 224);
    EXPECT_EQ(third->bytes(), 64u);
    second->mark_free();
    EXPECT_TRUE(!second->in_use() && !third->before_in_use() && first->in_use());
    EXPECT_EQ(third->before(), second);
    second->join_next();
    EXPECT_EQ(second->bytes(), 128u);
    second->mark_in_use();
    EXPECT_TRUE(first->next()->next()->before_in_use());
}

TEST(DoublyLinked, TakesTheOldestAndLosesAny) {
    std::array<std::array<void *, 2>, 5> blocks;
    DoublyLinked list;
    EXPECT_EQ(list.take(), nullptr);
    const auto insert_all = [&] {
        for (auto &block : blocks) {
            list.insert(&block);
        }
    };
    for (std::size_t gone = 0; gone < blocks.size(); ++gone) {
        insert_all();
        list.remove(&blocks[gone]);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (i != gone) {
                EXPECT_EQ(list.take(), &blocks[i]);
            }
        }
        EXPECT_TRUE(list.empty());
    }
    insert_all();
    const auto is_third = [&](void *block) { return block == &blocks[2]; };
    EXPECT_EQ(list.find(is_third, 2), nullptr) << "looks at two only";
    EXPECT_EQ(list.find(is_third, 3), &blocks[2]);
    EXPECT_EQ(list.take(), &blocks[0]) << "what was found is still in";
}

TEST(Dictionary, LendsABlockToWhoRemovesIt) {
    Compose<StaticBufferHeap<1_KiB>, Adapt<>> heap;
    void *const a = heap.malloc(32);
    void *const b = heap.malloc(32);
    heap.free(a);
    heap.free(b);
    heap.remove(a);
    EXPECT_EQ(heap.malloc(32), b);
    EXPECT_NE(heap.malloc(32), a);
}

TEST(Coalesceable, GivesARegionBackWithTheBlockThatFillsIt) {
    Compose<MmapHeap, Coalesceable<64_KiB>> heap;
    void *const p = heap.malloc(100);
    EXPECT_EQ(heap.getSize(p), 64_KiB - 40) << "the block is all of the region";
    BoundaryTag *const rest = tag_of(p)->split(128);
    heap.free(rest->block());
    EXPECT_TRUE(heap.owns(p)) << "a part of a region stays";
    tag_of(p)->join_next();
    heap.free(p);
    EXPECT_FALSE(heap.owns(p));
    void *const aligned = heap.memalign(64_KiB, 100);
    EXPECT_TRUE(is_aligned(aligned, 64_KiB));
    heap.free(aligned);
    EXPECT_FALSE(heap.owns(aligned)) << "the gap before it has gone with it";
}

TEST(Coalesceable, ContinuesTheRegionOfAContiguousHeap) {
    CoalesceableHeap<StaticBufferHeap<4_KiB>> heap;
    volatile std::size_t too_much = 4_KiB; // which the compiler must not know, or it warns of it
    void *const a = heap.malloc(100);
    void *const b = heap.malloc(200);
    EXPECT_EQ(tag_of(a)->next(), tag_of(b));
    EXPECT_TRUE(tag_of(b)->next()->is_fence());
    tag_of(a)->join_next();
    EXPECT_GE(heap.getSize(a), 300u);
    EXPECT_EQ(heap.malloc(too_much), nullptr);
    heap.clear();
    EXPECT_EQ(heap.malloc(100), a);
}

TEST(Coalesceable, AsksForWhatIsMissingBehindAFreeBlock) {
    CoalesceableHeap<StaticBufferHeap<64_KiB>> heap;
    void *const a = heap.malloc(40'000);
    tag_of(a)->mark_free();
    void *const b = heap.malloc(60'000);
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(tag_of(b)->before(), tag_of(a));
    tag_of(a)->join_next();
    EXPECT_GE(heap.getSize(a), 60'000u);
    EXPECT_LT(heap.getSize(a), 60'016u);
}

TEST(Coalesce, GrowsAFreeBlockAtTheEnd) {
    Splitting heap;
    void *const p = heap.malloc(30'000);
    heap.free(p);
    void *const q = heap.malloc(60'000);
    EXPECT_EQ(q, p) << "nothing else is live";
    heap.free(q);
    EXPECT_EQ(heap.malloc(64_KiB - 40), p) << "all of the buffer";
}

/// A program break that somebody else moves before each of the next `moves` calls.
struct SharedBreak : StaticBufferHeap<256_KiB> {
    static inline int moves = 0;
    void *malloc(std::size_t size) {
        if (moves > 0) {
            --moves;
            StaticBufferHeap::malloc(16);
        }
        return StaticBufferHeap::malloc(size);
    }
};

TEST(Coalesce, StartsAnotherRegionWhereTheBreakHasMoved) {
    for (const int moves : {1, 2, 3}) {
        Compose<SharedBreak, Coalesceable<>, Seg<Fine>, Coalesce> heap;
        void *const a = heap.malloc(40'000);
        heap.free(a);
        SharedBreak::moves = moves;
        void *const b = heap.malloc(60'000);
        ASSERT_NE(b, nullptr);
        std::memset(b, 1, 60'000);
        EXPECT_EQ(heap.malloc(40'000), a) << "it could not grow, and is still there";
        void *const c = heap.malloc(20'000);
        heap.free(b);
        heap.free(c);
        EXPECT_EQ(heap.malloc(80'000), b) << "what came behind continues the last region";
    }
}

TEST(Coalesce, ABufferGrowsInPlaceAtTheEnd) {
    using Source = Compose<StaticBufferHeap<8_MiB + 64_KiB>>;
    const auto heap = std::make_unique<Compose<Source, Coalesceable<>, Seg<Fine>, Coalesce>>();
    void *const first = heap->malloc(4_KiB);
    for (std::size_t size = 8_KiB; size <= 8_MiB; size += 4_KiB) {
        std::memset(first, static_cast<int>(size / 4_KiB % 251), size - 4_KiB);
        ASSERT_EQ(heap->reallocate(first, size), first);
        ASSERT_EQ(static_cast<unsigned char *>(first)[size - 4_KiB - 1], size / 4_KiB % 251)
            << "the last byte stays, although it was free in between";
    }
    EXPECT_EQ(heap->reallocate(first, 9_MiB), nullptr);
    EXPECT_LT(heap->getSize(first), 8_MiB + 64) << "as it was";
    heap->free(first);
    EXPECT_EQ(heap->malloc(8_MiB), first);
}

TEST(Coalesceable, Marks) {
    Compose<MmapHeap, Coalesceable<4_KiB, true>> heap;
    void *const p = heap.malloc(1);
    EXPECT_TRUE(tag_of(p)->marked());
    EXPECT_TRUE(tag_of(p)->split(64)->marked());
}

TEST(Coalesceable, MarksABlockThatContinuesARegion) {
    Compose<StaticBufferHeap<1_KiB>, Coalesceable<16, true>> heap;
    void *const first = heap.malloc(100);
    void *const second = heap.malloc(100);
    EXPECT_EQ(tag_of(first)->next(), tag_of(second));
    EXPECT_TRUE(tag_of(second)->marked());
}

TEST(Seg, ServesFromALargerBinAndFitsClosely) {
    Compose<StaticBufferHeap<64_KiB>, SizeHeader, Seg<Fine>> heap;
    void *const large = heap.malloc(5000);
    void *const medium = heap.malloc(700);
    void *const close = heap.malloc(690);
    for (void *p : {large, medium, close}) {
        heap.free(p);
    }
    EXPECT_EQ(heap.malloc(695), medium) << "of the class below, and the first that fits";
    EXPECT_EQ(heap.malloc(690), close);
    EXPECT_EQ(heap.malloc(600), large) << "the smallest class that has one";
    EXPECT_NE(heap.malloc(600), large);
    void *const huge = heap.malloc(200 * 100);
    heap.free(large);
    heap.remove(large);
    heap.free(huge);
    EXPECT_EQ(heap.malloc(100), huge);
}

TEST(Seg, HasABinAboveAllClasses) {
    using Few = GeometricSizeClasses<1_KiB, 512>;
    Compose<StaticBufferHeap<64_KiB>, SizeHeader, Seg<Few>> heap;
    void *const a = heap.malloc(2000);
    void *const b = heap.malloc(3000);
    heap.free(a);
    heap.free(b);
    EXPECT_EQ(heap.malloc(2500), b) << "not the first of them, but the one that fits";
    EXPECT_EQ(heap.malloc(1000), a);
}

TEST(Seg, PassesOverWhatLiesBehindSixteenBlocksThatDoNotFit) {
    using Few = GeometricSizeClasses<1_KiB, 512>;
    for (const std::size_t size : {std::size_t{700}, std::size_t{3000}}) { // of a class, and above all
        for (const unsigned unfit : {15u, 16u}) {
            Compose<StaticBufferHeap<128_KiB>, SizeHeader, Seg<Few>> heap;
            std::vector<void *> blocks;
            for (unsigned i = 0; i < unfit; ++i) {
                blocks.push_back(heap.malloc(size - 30));
            }
            void *const fits = heap.malloc(size);
            blocks.push_back(fits);
            for (void *p : blocks) {
                heap.free(p);
            }
            EXPECT_EQ(heap.malloc(size) == fits, unfit < 16);
        }
    }
}

TEST(Coalesce, JoinsNeighboursInWhateverOrderTheyAreFreed) {
    std::array<int, 3> order{0, 1, 2};
    do {
        Splitting heap;
        std::array<void *, 3> blocks{heap.malloc(1000), heap.malloc(1000), heap.malloc(1000)};
        void *const wall = heap.malloc(1000);
        for (const int i : order) {
            heap.free(blocks[static_cast<std::size_t>(i)]);
        }
        EXPECT_EQ(heap.malloc(3000), blocks[0]);
        heap.free(wall);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Coalesce, SplitsAndJoinsAcrossTheGrowthOfAContiguousHeap) {
    Splitting heap;
    void *const a = heap.malloc(100);
    void *const b = heap.malloc(100);
    EXPECT_EQ(tag_of(a)->next(), tag_of(b)) << "the rest of a's region";
    void *const large = heap.malloc(16_KiB);
    EXPECT_EQ(tag_of(b)->next(), tag_of(large)) << "started in the first region";
    heap.free(large);
    heap.free(a);
    heap.free(b);
    EXPECT_EQ(heap.malloc(30'000), a);
}

TEST(Coalesce, ReallocatesInPlaceWhereItCan) {
    Splitting heap;
    void *const p = heap.malloc(1000);
    void *const q = heap.malloc(1000);
    EXPECT_EQ(heap.reallocate(p, 100), p);
    EXPECT_LT(heap.getSize(p), 132u);
    EXPECT_EQ(heap.reallocate(p, 1000), p) << "what it had given up";
    EXPECT_NE(heap.reallocate(p, 2000), p) << "q is in the way";
    EXPECT_EQ(heap.reallocate(q, 10), q);
    EXPECT_EQ(heap.reallocate(q, PTRDIFF_MAX), nullptr);
}

TEST(Coalesce, AlignsBySplitting) {
    Splitting heap;
    for (const std::size_t wanted : {32u, 256u, 4096u}) {
        void *const p = heap.memalign(wanted, 100);
        EXPECT_TRUE(is_aligned(p, wanted));
        EXPECT_LT(heap.getSize(p), 132u) << "the rest is free again";
        heap.free(p);
    }
    void *const all = heap.malloc(15'000);
    EXPECT_NE(all, nullptr) << "and joined";
    heap.free(all);
}

/// No two free blocks side by side, and both neighbours agree.
void walk(void *first) {
    BoundaryTag *tag = tag_of(first);
    bool before_in_use = true;
    for (; !tag->is_fence(); tag = tag->next()) {
        ASSERT_GE(tag->bytes(), BoundaryTag::smallest);
        ASSERT_EQ(tag->before_in_use(), before_in_use);
        ASSERT_TRUE(tag->in_use() || before_in_use) << "two free neighbours";
        before_in_use = tag->in_use();
    }
    ASSERT_EQ(tag->before_in_use(), before_in_use);
}

TEST(Coalesce, NeverHasTwoFreeNeighbours) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        std::mt19937 random(seed);
        Splitting heap;
        void *const first = heap.malloc(1);
        std::vector<void *> live;
        for (int step = 0; step < 2000; ++step) {
            const std::size_t size = random() % (random() % 4 == 0 ? 4000 : 300);
            const std::size_t any = live.empty() ? 0 : random() % live.size();
            if (live.empty() || random() % 2 == 0) {
                void *const p = random() % 8 == 0 ? heap.memalign(64, size) : heap.malloc(size);
                if (p != nullptr) {
                    live.push_back(p);
                }
            } else if (random() % 4 == 0) {
                void *const p = heap.reallocate(live[any], size + 1);
                live[any] = p != nullptr ? p : live[any];
            } else {
                heap.free(live[any]);
                live[any] = live.back();
                live.pop_back();
            }
            walk(first);
        }
        for (void *p : live) {
            heap.free(p);
        }
        walk(first);
        EXPECT_TRUE(tag_of(first)->next()->next()->is_fence()) << "all is one free block";
    }
}

TEST(CoalesceDeathTest, StopsAtADoubleFreeWhereAssertionsAreOn) {
    if constexpr (platform::checked) {
        Splitting heap;
        void *const p = heap.malloc(100);
        heap.free(p);
        EXPECT_DEATH(heap.free(p), "is free or has a broken boundary tag");
    }
}

TEST(CoalesceDeathTest, StopsAtATagWithTextInItWhereAssertionsAreOn) {
    if constexpr (platform::checked) {
        Splitting heap;
        auto *const p = static_cast<char *>(heap.malloc(24));
        void *const behind = heap.malloc(24);
        std::memcpy(p + 24, "seven w.", 8); // its low bits are those of a block in use
        EXPECT_DEATH(heap.free(behind), "is free or has a broken boundary tag");
    }
}

TEST(Rounded, AsksForWholeClasses) {
    Compose<StaticBufferHeap<64_KiB>, SizeHeader, Rounded<PowersOfTwo<8, 8>>> heap;
    EXPECT_EQ(heap.getSize(heap.malloc(33)), 64u);
    EXPECT_EQ(heap.getSize(heap.malloc(1025)), 1025u) << "above the largest class";
}

TEST(AlignedHeader, KnowsItsAlignedBlocks) {
    Compose<MmapHeap, SizeHeader, AlignedHeader> heap;
    void *const plain = heap.malloc(33);
    EXPECT_EQ(heap.getSize(plain), 34u);
    void *const aligned = heap.memalign(1_MiB, 100);
    EXPECT_TRUE(is_aligned(aligned, 1_MiB));
    EXPECT_GE(heap.getSize(aligned), 100u);
    heap.free(aligned); // MmapHeap stops at any other address than its own
    heap.free(plain);
    EXPECT_EQ(heap.malloc(SIZE_MAX), nullptr);
    EXPECT_EQ(heap.memalign(64, SIZE_MAX), nullptr);
}

using Lists = Compose<StaticBufferHeap<16_KiB>, Coalesceable<>, Seg<Fine>, Coalesce, Threshold<Quick, 512>>;

TEST(Threshold, KeepsSmallBlocksApartUntilALargeRequest) {
    Lists heap;
    std::array<void *, 8> blocks;
    for (void *&p : blocks) {
        p = heap.malloc(40);
    }
    void *const wall = heap.malloc(100);
    for (void *p : blocks) {
        heap.free(p);
    }
    EXPECT_EQ(heap.malloc(33), blocks[7]) << "the last freed first";
    heap.free(blocks[7]);
    EXPECT_NE(heap.malloc(300), blocks[0]) << "not joined yet";
    EXPECT_NE(heap.malloc(600), nullptr);
    EXPECT_EQ(heap.malloc(300), blocks[0]) << "joined by the request for 600 bytes";
    heap.free(wall);
}

TEST(Threshold, JoinsBeforeItIsOutOfMemory) {
    Lists heap;
    std::vector<void *> blocks;
    while (void *const p = heap.malloc(24)) {
        blocks.push_back(p);
    }
    for (void *p : blocks) {
        heap.free(p);
    }
    EXPECT_NE(heap.malloc(500), nullptr) << "below the trigger";
}

TEST(SelectMapped, TellsItsBlocks) {
    using Mappings = Compose<MmapHeap, Coalesceable<4_KiB, true>>;
    Compose<StaticBufferHeap<16_KiB>, Coalesceable<>, Seg<Fine>, Coalesce, SelectMapped<4_KiB, Mappings>>
        heap;
    void *small = heap.malloc(4095);
    void *const large = heap.malloc(4096);
    EXPECT_TRUE(!tag_of(small)->marked() && tag_of(large)->marked());
    small = heap.reallocate(small, 5000);
    EXPECT_TRUE(tag_of(small)->marked()) << "has grown above the threshold";
    EXPECT_EQ(heap.reallocate(large, 8000), large);
    small = heap.reallocate(small, 10);
    EXPECT_FALSE(tag_of(small)->marked()) << "and shrunk below it";
    heap.free(large);
    bool mapped = false;
    for (int i = 0; i < 8 && !mapped; ++i) {
        mapped = tag_of(heap.malloc(4000))->marked();
    }
    EXPECT_TRUE(mapped) << "the other heap when one has nothing";
}

TEST(Fallback, AsksTheSecondWhenTheFirstHasNothing) {
    Compose<MmapHeap, Fallback<StaticBufferHeap<64>>> heap;
    void *const a = heap.malloc(64);
    void *const b = heap.malloc(64);
    EXPECT_LT(address_of(a) - address_of(&heap), sizeof heap) << "its buffer";
    EXPECT_TRUE(is_aligned(b, 4_KiB));
    EXPECT_TRUE(heap.owns(a) && heap.owns(b));
    heap.free(b);
    heap.free(a);
    EXPECT_FALSE(heap.owns(b));
}

TEST(Fallback, AsksTheSecondWhenTheFirstThrows) {
    Compose<MmapHeap, Fallback<Compose<MmapHeap, ThrowException>>> heap;
    EXPECT_EQ(heap.malloc(SIZE_MAX / 2), nullptr);
    EXPECT_EQ(heap.memalign(64, SIZE_MAX / 2), nullptr);
    heap.free(heap.malloc(1));
}

template <class H>
class CoalescingOutOfMemory : public testing::Test {};

using Layers =
    testing::Types<DictionaryHeap<Rich>, CoalesceableHeap<Rich>, SegHeap<CoalesceableHeap<Rich>, Fine>,
                   Compose<Rich, Coalesceable<>, Seg<Fine>, Coalesce>, RoundedHeap<Rich, Fine>,
                   Compose<Rich, SizeHeader, AlignedHeader>,
                   Compose<Rich, Coalesceable<>, Seg<Fine>, Coalesce, Threshold<Quick, 512>>,
                   SelectMappedHeap<SplittingArchetype, 64, MarkingArchetype>, FallbackHeap<Rich, Rich>>;
TYPED_TEST_SUITE(CoalescingOutOfMemory, Layers);

TYPED_TEST(CoalescingOutOfMemory, IsPassedUp) {
    TypeParam heap;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(heap.malloc(20), nullptr);
        EXPECT_EQ(heap.malloc(2000), nullptr);
        if constexpr (AlignedHeap<TypeParam>) {
            EXPECT_EQ(heap.memalign(64, 200), nullptr);
        }
        if constexpr (ZeroingHeap<TypeParam>) {
            EXPECT_EQ(heap.malloc_zeroed(200), nullptr);
        }
        if constexpr (ClearableHeap<TypeParam>) {
            heap.clear();
        }
    }
}

} // namespace
