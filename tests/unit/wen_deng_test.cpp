// SPDX-License-Identifier: MIT
#include <allocators/wen_deng_apart.hpp>

#include <cairn/layer/bump.hpp>
#include <cairn/source/mmap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cairn::literals;
using cairn::address_of;

constexpr std::size_t S = 4096;
using Region = cairn::BumpHeap<cairn::MmapHeap, 1_MiB>;
using WenDeng = cairn::WenDeng<cairn::WenDengParameters, Region>;
using WenDengApart = cairn::WenDengApart<cairn::WenDengParameters, Region>;

constexpr std::size_t pages(std::size_t n) {
    return n * S - 8; // the largest request that fits
}

auto &superblock_of(void *block) {
    using Superblock = cairn::wen_deng::Superblock<cairn::WenDengParameters, cairn::wen_deng::LinksInBlocks>;
    return *reinterpret_cast<Superblock *>(cairn::wen_deng::header_of(block));
}

template <class H>
cairn::Statistics statistics_of(H &heap) {
    cairn::Statistics now;
    heap.statistics(now);
    return now;
}

template <class H>
class WenDengBlocks : public testing::Test {};
using Both = testing::Types<WenDeng, WenDengApart>;
TYPED_TEST_SUITE(WenDengBlocks, Both);

TYPED_TEST(WenDengBlocks, HaveTheSizesOfTheReport) {
    TypeParam heap;
    std::size_t size = 0;
    for (const std::size_t available : {8, 24, 56, 120, 248, 504, 1016, 2040}) {
        for (; size <= available; ++size) {
            void *const p = heap.malloc(size);
            EXPECT_EQ(heap.getSize(p), available) << size;
            EXPECT_EQ(address_of(p) % (available + 8), 0u) << "a block is at a multiple of its size";
            heap.free(p);
        }
    }
    void *const raw = heap.malloc(size);
    EXPECT_EQ(heap.getSize(raw), S - 8);
    heap.free(raw);
    EXPECT_TRUE(heap.consistent());
}

TYPED_TEST(WenDengBlocks, FillThePage) {
    TypeParam heap;
    for (std::size_t block = 16; block <= S / 2; block *= 2) {
        const auto page = address_of(heap.malloc(block - 8));
        EXPECT_EQ(page % S, 0u);
        for (std::size_t i = 1; i < S / block; ++i) {
            EXPECT_EQ(address_of(heap.malloc(block - 8)), page + i * block);
        }
        EXPECT_NE(address_of(heap.malloc(block - 8)), page + S / block * block - 8);
    }
    EXPECT_TRUE(heap.consistent());
}

TYPED_TEST(WenDengBlocks, AreReusedLastInFirstOutBeforeOthersAreCarved) {
    TypeParam heap;
    void *const a = heap.malloc(100);
    void *const b = heap.malloc(100);
    void *const c = heap.malloc(100);
    heap.free(b);
    heap.free(a);
    heap.free(c);
    EXPECT_EQ(heap.malloc(100), c);
    EXPECT_EQ(heap.malloc(100), a);
    EXPECT_EQ(heap.malloc(100), b);
    EXPECT_EQ(address_of(heap.malloc(100)), address_of(c) + 128);
}

TYPED_TEST(WenDengBlocks, ComeFromTheFullestSuperblockWithSpace) {
    TypeParam heap;
    std::vector<void *> blocks(4 * 16); // four superblocks of 16
    for (void *&p : blocks) {
        p = heap.malloc(200);
    }
    const auto free_of = [&](std::size_t superblock, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            heap.free(blocks[superblock * 16 + i]);
        }
    };
    free_of(0, 3);
    free_of(1, 1);
    free_of(2, 2);
    EXPECT_EQ(heap.malloc(200), blocks[16]);
    EXPECT_EQ(heap.malloc(200), blocks[2 * 16 + 1]);
    EXPECT_EQ(heap.malloc(200), blocks[2 * 16]);
    EXPECT_EQ(heap.malloc(200), blocks[2]);
    EXPECT_TRUE(heap.consistent());
}

class WenDengRaw : public testing::Test {
protected:
    WenDeng heap;
};

TEST_F(WenDengRaw, BlocksAreTheBestFit) {
    void *const nine = heap.malloc(pages(9));
    void *const two = heap.malloc(pages(2));
    void *const five = heap.malloc(pages(5));
    heap.free(five);
    heap.free(nine);
    heap.free(two);
    EXPECT_EQ(heap.malloc(pages(4)), five);
    EXPECT_EQ(heap.getSize(five), pages(5)) << "too large by a page only: not split";
    EXPECT_EQ(heap.malloc(pages(1) + 1), two);
    EXPECT_EQ(heap.malloc(pages(2)), nine);
}

TEST_F(WenDengRaw, BlocksTooLargeByMoreThanAPageAreSplit) {
    void *const nine = heap.malloc(pages(9));
    heap.free(nine);
    void *const first = heap.malloc(pages(3) - 100);
    EXPECT_EQ(first, nine);
    EXPECT_EQ(heap.getSize(first), pages(3));
    EXPECT_EQ(statistics_of(heap).free_dirty, 6 * S);
    void *const second = heap.malloc(pages(6));
    EXPECT_EQ(address_of(second), address_of(nine) + 3 * S);
    EXPECT_EQ(statistics_of(heap).mapped, 9 * S);
    EXPECT_EQ(statistics_of(heap).large_live, 9 * S);
}

TEST_F(WenDengRaw, BlocksBecomeSuperblocks) {
    void *const raw = heap.malloc(pages(3));
    heap.free(raw);
    void *const small = heap.malloc(8);
    EXPECT_EQ(address_of(small), address_of(raw));
    EXPECT_EQ(statistics_of(heap).mapped, 3 * S);
    EXPECT_EQ(statistics_of(heap).free_dirty, S) << "a page for the superblock, one for records";
    EXPECT_NE(heap.malloc(500), nullptr);
    EXPECT_EQ(statistics_of(heap).mapped, 3 * S);
    EXPECT_EQ(statistics_of(heap).free_dirty, 0u);
}

/// Wherever among eight pages the source is. What is behind the block is cut off if it is more than a page.
TEST(WenDengAligned, LeavesWholePagesBehind) {
    for (std::size_t n = 1; n <= 8; ++n) {
        WenDeng one;
        static_cast<void>(one.malloc(pages(n)));
        const std::size_t before = statistics_of(one).mapped;
        void *const aligned = one.memalign(8 * S, pages(2));
        EXPECT_EQ(address_of(aligned) % (8 * S), 0u);
        EXPECT_GE(one.getSize(aligned), pages(2));
        EXPECT_LE(one.getSize(aligned), pages(3));
        one.free(aligned);
        const std::size_t mapped = statistics_of(one).mapped;
        EXPECT_EQ(statistics_of(one).free_dirty, mapped - before);
        for (int i = 0; i < 100; ++i) {
            one.free(one.memalign(8 * S, pages(2)));
        }
        EXPECT_EQ(statistics_of(one).mapped, mapped) << "the same again takes the same pages";
    }
}

/// The break as a static buffer, which others move, too.
class TestBreak {
public:
    static constexpr std::size_t alignment = 16;
    static constexpr std::size_t never = SIZE_MAX;

    static void open() {
        std::memset(memory, 0, sizeof memory);
        top = 16;
        calls = 0;
        moved_at = never;
    }
    void *malloc(std::size_t size) {
        top += ++calls == moved_at ? 48 : 0; // someone else's
        if (size > sizeof memory - top) {
            return nullptr;
        }
        void *const block = memory + top;
        top += cairn::align_up(size, 16);
        return block;
    }
    void free(void *) {}

    alignas(S) static inline unsigned char memory[2_MiB];
    static inline std::size_t top = 0;
    static inline std::size_t calls = 0;
    static inline std::size_t moved_at = never;
};

TEST(WenDengPages, SurviveOthersWhoMoveTheBreak) {
    for (std::size_t call = 1; call < 10; ++call) {
        TestBreak::open();
        TestBreak::moved_at = call;
        cairn::wen_deng::Pages<TestBreak, S> source;
        std::uintptr_t end = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            const auto start = address_of(source.malloc(3 * S));
            ASSERT_NE(start, 0u);
            EXPECT_EQ(start % S, 0u);
            EXPECT_GE(start, end) << "overlaps the one before";
            end = start + 3 * S;
            EXPECT_LE(end, address_of(TestBreak::memory + TestBreak::top));
        }
        EXPECT_LE(TestBreak::top, 6 * 3 * S + 3 * S + 4 * S + 2 * 48)
            << "at most a request and a few pages are lost";
    }
}

TEST(WenDengPages, CostNoMoreThanTheyAreWhileTheBreakIsOurs) {
    TestBreak::open();
    cairn::wen_deng::Pages<TestBreak, S> source;
    for (int i = 0; i < 6; ++i) {
        source.malloc(3 * S);
    }
    EXPECT_EQ(TestBreak::top, S + 6 * 3 * S);
    EXPECT_EQ(TestBreak::calls, 7u);
}

/// Sections 2.6 and 3.2.2: the cache lines that frees write to, each of which the blocks' thread has to fetch back.
struct LinesWritten {
    std::size_t of_blocks = 0;
    std::size_t of_all = 0;
};

template <class H>
LinesWritten lines_written_by_frees(std::size_t size, std::size_t count) {
    constexpr std::size_t line = 64;
    TestBreak::open();
    const auto heap = std::make_unique<H>();
    std::vector<unsigned char *> blocks(count);
    std::set<std::size_t> lines_of_blocks;
    for (unsigned char *&p : blocks) {
        p = static_cast<unsigned char *>(heap->malloc(size));
        std::memset(p, 0xa5, size);
        for (std::size_t i = 0; i < size; ++i) {
            lines_of_blocks.insert(static_cast<std::size_t>(p + i - TestBreak::memory) / line);
        }
    }
    const std::vector<unsigned char> before(std::begin(TestBreak::memory), std::end(TestBreak::memory));
    for (unsigned char *p : blocks) {
        heap->free(p);
    }
    LinesWritten written;
    for (std::size_t at = 0; at < before.size(); at += line) {
        if (std::memcmp(&before[at], TestBreak::memory + at, line) != 0) {
            ++written.of_all;
            written.of_blocks += lines_of_blocks.count(at / line);
        }
    }
    return written;
}

TEST(WenDengApart, FreesWriteToNoLineOfBlocks) {
    using cairn::WenDengParameters;
    for (const std::size_t size : {8, 24, 56, 120, 248, 504}) {
        const LinesWritten in_blocks =
            lines_written_by_frees<cairn::WenDeng<WenDengParameters, TestBreak>>(size, 1000);
        const LinesWritten apart =
            lines_written_by_frees<cairn::WenDengApart<WenDengParameters, TestBreak>>(size, 1000);
        std::printf("1000 frees of %3zu bytes write %4zu lines (%4zu of blocks); links apart: %3zu (%zu)\n",
                    size, in_blocks.of_all, in_blocks.of_blocks, apart.of_all, apart.of_blocks);
        EXPECT_EQ(in_blocks.of_blocks, size < 56 ? 1000 * (size + 8) / 64 : 1000);
        EXPECT_EQ(apart.of_blocks, 0u);
        EXPECT_LT(apart.of_all, in_blocks.of_all);
    }
}

class WenDengTransfer : public testing::Test {
protected:
    static constexpr std::size_t size = 200; // 16 to a superblock

    void fill(std::size_t superblocks) {
        blocks.resize(superblocks * 16);
        for (void *&p : blocks) {
            p = heap.malloc(size);
        }
    }

    WenDeng heap;
    std::vector<void *> blocks;
};

TEST_F(WenDengTransfer, KeepsTheEmptinessInvariant) {
    fill(40);
    auto *const mine = superblock_of(blocks[0]).owner;
    std::mt19937_64 random(1);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (void *p : blocks) {
        heap.free(p);
        ASSERT_FALSE(mine->too_empty());
    }
    const cairn::Statistics now = statistics_of(heap);
    EXPECT_EQ(now.superblocks, 40u);
    EXPECT_EQ(now.superblocks_to_global, 36u) << "all but K";
    EXPECT_EQ(now.small_live, 0u);
    EXPECT_TRUE(heap.consistent());
}

TEST_F(WenDengTransfer, GivesOtherHeapsWhatIsFree) {
    fill(40);
    for (void *p : blocks) {
        heap.free(p);
    }
    std::thread([&] { fill(40); }).join();
    const cairn::Statistics now = statistics_of(heap);
    EXPECT_GE(now.superblocks_from_global, 36u);
    EXPECT_LE(now.superblocks, 44u) << "fresh ones only for the K that the first heap keeps";
    EXPECT_EQ(now.small_live, 40 * S);
    EXPECT_TRUE(heap.consistent());
}

TEST_F(WenDengTransfer, LeavesReferencedSuperblocks) {
    fill(20);
    auto *const mine = superblock_of(blocks[0]).owner;
    for (std::size_t i = 0; i < 3; ++i) { // three frees are on their way
        superblock_of(blocks[i * 16]).references = 1;
    }
    for (std::size_t i = 0; i < 18 * 16; ++i) {
        heap.free(blocks[i]);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < 20; ++i) {
        const bool is_mine = superblock_of(blocks[i * 16]).owner == mine;
        kept += is_mine ? 1 : 0;
        EXPECT_TRUE(is_mine || (i >= 3 && i < 18)) << i;
    }
    EXPECT_EQ(kept, 2u + cairn::WenDengParameters::least_superblocks) << "the full ones and K";
    EXPECT_EQ(superblock_of(blocks[0]).references, 1u);
    EXPECT_TRUE(heap.consistent());
}

TEST_F(WenDengTransfer, TakesNoReferencedSuperblockFromTheGlobalHeap) {
    fill(20);
    auto *const mine = superblock_of(blocks[0]).owner;
    for (void *p : blocks) {
        heap.free(p);
    }
    std::set<void *> referenced;
    for (std::size_t i = 0; i < 20; ++i) {
        auto &s = superblock_of(blocks[i * 16]);
        if (s.owner != mine && referenced.size() < 5) {
            s.references = 1;
            referenced.insert(&s);
        }
    }
    fill(20);
    for (void *p : blocks) {
        EXPECT_EQ(referenced.count(&superblock_of(p)), 0u);
    }
    EXPECT_EQ(statistics_of(heap).superblocks, 25u);
}

/// Section 2.4: frees against transfers, over superblocks of two blocks, so that they change hands all the time.
struct Restless : cairn::WenDengParameters {
    static constexpr std::size_t heaps = 3;
    static constexpr std::size_t least_superblocks = 0;
    static constexpr std::size_t emptiness_denominator = 64;
};

template <class H>
void race() {
    const auto heap = std::make_unique<H>();
    constexpr std::size_t places = 64;
    std::array<std::mutex, places> locks;
    std::array<unsigned char *, places> passed{};
    const auto work = [&](unsigned seed) {
        std::mt19937_64 random(seed);
        for (int i = 0; i < (cairn::platform::sanitized ? 4000 : 20000); ++i) {
            const std::size_t place = random() % places;
            auto *mine = static_cast<unsigned char *>(heap->malloc(i % 8 == 0 ? 40 : 2000));
            ASSERT_NE(mine, nullptr);
            mine[0] = mine[39] = static_cast<unsigned char>(place);
            {
                const std::lock_guard hold(locks[place]);
                std::swap(mine, passed[place]);
            }
            if (mine != nullptr) {
                ASSERT_TRUE(mine[0] == place && mine[39] == place);
                heap->free(mine);
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 6; ++t) {
        threads.emplace_back(work, t);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (unsigned char *p : passed) {
        if (p != nullptr) {
            heap->free(p);
        }
    }
    const cairn::Statistics now = statistics_of(*heap);
    EXPECT_TRUE(heap->consistent());
    EXPECT_EQ(now.small_live, 0u);
    EXPECT_GT(now.superblocks_to_global, 1000u) << "no race worth the name";
    EXPECT_GT(now.superblocks_from_global, 1000u);
    EXPECT_LE(now.superblocks, 2 * (places + 6));
}

TEST(WenDengOwner, IsRightWhileSuperblocksMove) {
    race<cairn::WenDeng<Restless, Region>>();
}
TEST(WenDengApartOwner, IsRightWhileSuperblocksMove) {
    race<cairn::WenDengApart<Restless, Region>>();
}

/// Another thread's free had come as far as the heap's lock.
TEST(WenDengFork, ChildForgetsTheFreesOfOtherThreads) {
    const auto heap = std::make_unique<WenDeng>();
    void *const p = heap->malloc(2000);
    void *const q = heap->malloc(2000);
    auto &s = superblock_of(p);
    ASSERT_EQ(&s, &superblock_of(q));
    s.mutex.hold_across_fork();
    s.references = 1;
    heap->lock_all();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        heap->unlock_all(cairn::sync::AfterFork::in_child);
        heap->free(p);
        _exit(s.references == 0 && heap->malloc(2000) == p && heap->consistent() ? 0 : 1);
    }
    heap->unlock_all(cairn::sync::AfterFork::in_parent);
    EXPECT_EQ(s.references, 1u) << "the parent has that thread still";
    EXPECT_FALSE(s.mutex.try_lock());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

} // namespace
