// SPDX-License-Identifier: MIT
//
// GuardedPages and RandomPlaces: each fault is found once and leaves the heap as it was; memory comes clean; places are
// random; blocks are not more than half of what there is.
#include "../process/works_filter.hpp"
#include "process_memory.hpp"

#include <allocators/hardened.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/power.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include <sys/resource.h>

namespace cairn {
namespace {

struct Noting {
    static inline std::vector<Finding> findings;
    static constexpr bool leaks = false;
    static void found(const Finding &finding) { findings.push_back(finding); }
};

/// The one fault since the last call.
Fault the_fault() {
    EXPECT_EQ(Noting::findings.size(), 1u);
    const Fault fault = Noting::findings.empty() ? Fault::leaked : Noting::findings.back().fault;
    Noting::findings.clear();
    return fault;
}

using Classes = GeometricSizeClasses<4_KiB, 512>;
using Guarded = GuardedPagesHeap<Noting, 4>;
using Random = Compose<Guarded, RandomPlaces<Classes, Noting, 8>>;

static_assert(aligns_blocks<Classes>(16) && aligns_blocks<PowersOfTwo<64, 6>>(16));
static_assert(aligns_blocks<PowersOfTwo<8, 6>>(16), "no block of 8 bytes is asked for");
static_assert(aligns_blocks<MultipleClasses<16, 16, 512>>(16) && aligns_blocks<MultiplesOf8<512>>(8));
static_assert(!aligns_blocks<MultiplesOf8<512>>(16), "24 bytes");
static_assert(!aligns_blocks<PowersOfTwo<8, 1>>(16), "no class for it");
static_assert(!aligns_blocks<PowerSizeClasses<4096, 6, 5>>(16), "no class of 128 bytes");

template <class H>
class HardenedLayers : public testing::Test {
protected:
    H heap;
    unsigned char *get(std::size_t size) { return static_cast<unsigned char *>(heap.malloc(size)); }
    void SetUp() override { Noting::findings.clear(); }
    void TearDown() override { EXPECT_TRUE(Noting::findings.empty()); }
};
using Layers = testing::Types<Guarded, Random>;
TYPED_TEST_SUITE(HardenedLayers, Layers);

struct NotingLeaks : Noting {
    static constexpr bool leaks = true;
};
template <class H>
class HardenedLeaks : public testing::Test {};
using LeakyGuarded = GuardedPagesHeap<NotingLeaks, 4>;
using LeakTelling =
    testing::Types<LeakyGuarded, Compose<LeakyGuarded, RandomPlaces<Classes, NotingLeaks, 8>>>;
TYPED_TEST_SUITE(HardenedLeaks, LeakTelling);

TYPED_TEST(HardenedLeaks, AreToldWhenTheHeapIsDestroyed) {
    Noting::findings.clear();
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 3 * Classes::largest}) {
        void *lost = nullptr;
        {
            TypeParam heap;
            heap.free(heap.malloc(size));
            lost = heap.malloc(size);
            heap.free(heap.malloc(size));
            EXPECT_TRUE(Noting::findings.empty());
        }
        ASSERT_EQ(Noting::findings.size(), 1u) << "not what is held";
        EXPECT_EQ(Noting::findings.back().block, lost);
        EXPECT_EQ(Noting::findings.back().size, size);
        EXPECT_EQ(the_fault(), Fault::leaked);
    }
}

TYPED_TEST(HardenedLayers, FindFreesOfNoBlock) {
    auto *const p = this->get(100);
    this->heap.free(p + 16);
    EXPECT_EQ(the_fault(), Fault::interior_free);
    int here = 0;
    this->heap.free(&here);
    EXPECT_EQ(the_fault(), Fault::invalid_free);
    EXPECT_EQ(this->heap.getSize(p), 100u);
    this->heap.free(p);
    this->heap.free(p);
    EXPECT_EQ(the_fault(), Fault::multiple_free);
    EXPECT_EQ(this->heap.getSize(p), 0u);
    EXPECT_EQ(the_fault(), Fault::invalid_use);
    EXPECT_EQ(this->heap.reallocate(p, 200), nullptr);
    EXPECT_EQ(the_fault(), Fault::multiple_free);
    EXPECT_EQ(this->heap.reallocate(&here, 200), nullptr);
    the_fault();
    void *const large = this->heap.malloc(3 * Classes::largest);
    this->heap.free(large);
    for (const std::size_t size : {std::size_t{10}, 2 * Classes::largest}) {
        EXPECT_EQ(this->heap.reallocate(large, size), nullptr);
        EXPECT_EQ(the_fault(), Fault::multiple_free) << size;
    }
    void *const nothing = this->heap.malloc(0);
    this->heap.free(nothing);
    this->heap.free(nothing);
    EXPECT_EQ(the_fault(), Fault::multiple_free);
    void *const aligned = this->heap.memalign(64_KiB, 0);
    this->heap.free(this->heap.reallocate(aligned, 10));
}

TYPED_TEST(HardenedLayers, FindTheSameBelowAProfile) {
    static constinit Usage usage;
    Compose<TypeParam, Profile<usage>> profiled;
    for (const std::size_t size : {std::size_t{100}, 3 * Classes::largest}) {
        void *const p = profiled.malloc(size);
        profiled.free(p);
        profiled.free(p);
        EXPECT_EQ(the_fault(), Fault::multiple_free);
        EXPECT_EQ(profiled.reallocate(p, 10), nullptr);
        EXPECT_EQ(the_fault(), Fault::multiple_free);
        EXPECT_EQ(usage.blocks.now(), 0u);
    }
}

TEST(GuardedPagesDeathTest, NoBlockStaysMappedWhereTheKernelMakesNoHoleInAMapping) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs mappings for itself";
    }
    EXPECT_EXIT(
        {
            std::vector<void *> blocks(100);
            {
                Guarded heap;
                process_test::Filter()
                    .deny(SYS_mprotect, ENOMEM)
                    .install(); // no guards: the blocks are one mapping
                for (void *&block : blocks) {
                    block = heap.malloc(5000);
                }
                const std::size_t page = platform::vm::page_size();
                for (bool odd = false;
                     platform::vm::map(page, odd ? platform::vm::read_and_write : platform::vm::nothing);
                     odd = !odd) {
                }
                for (std::size_t i = 10; i < 60; i += 2) {
                    heap.free(blocks[i]);
                }
            }
            EXPECT_EQ(std::count_if(blocks.begin(), blocks.end(), test::mapped), 0);
            EXPECT_TRUE(Noting::findings.empty());
            _exit(testing::Test::HasFailure());
        },
        [](int status) {
            return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
        },
        "");
}

TYPED_TEST(HardenedLayers, FindWritesBehindTheEnd) {
    for (const std::size_t size : {1, 17, 100, 1000}) {
        auto *const p = this->get(size);
        p[size] = 1;
        this->heap.free(p);
        EXPECT_EQ(the_fault(), Fault::written_behind_end);
    }
}

TYPED_TEST(HardenedLayers, GiveCleanMemoryAlways) {
    for (int i = 0; i < 200; ++i) {
        auto *const p = this->get(200);
        ASSERT_EQ(std::count(p, p + 200, 0), 200);
        std::memset(p, 0xff, 200);
        this->heap.free(p);
    }
}

TYPED_TEST(HardenedLayers, KnowTheSizeThatReallocateWasAskedFor) {
    for (const std::size_t before : {400, 4000, 40000}) {
        for (const std::size_t size : {before - 1, before * 3 / 5, before / 5, before + 1, before * 20}) {
            auto *p = this->get(before);
            std::memset(p, 0xff, before);
            p = static_cast<unsigned char *>(this->heap.reallocate(p, size));
            ASSERT_NE(p, nullptr);
            EXPECT_EQ(this->heap.getSize(p), size);
            const auto kept = static_cast<std::ptrdiff_t>(std::min(size, before));
            EXPECT_EQ(std::count(p, p + kept, 0xff), kept);
            this->heap.free(p);
        }
        auto *const p = static_cast<unsigned char *>(this->heap.reallocate(this->get(before), before - 7));
        p[before - 7] = 1;
        this->heap.free(p);
        EXPECT_EQ(the_fault(), Fault::written_behind_end);
    }
}

/// While there is one the process gets no address space beyond so many bytes.
class Limit {
public:
    explicit Limit(std::size_t bytes) {
        getrlimit(RLIMIT_AS, &before_);
        const rlimit now{bytes, before_.rlim_max};
        setrlimit(RLIMIT_AS, &now);
    }
    ~Limit() { setrlimit(RLIMIT_AS, &before_); }
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

private:
    rlimit before_{};
};

TYPED_TEST(HardenedLayers, ShortenBlocksWithoutMemory) {
    for (const std::size_t before : {400, 40000}) {
        auto *const p = this->get(before);
        std::memset(p, 0xff, before);
        void *longer = nullptr;
        void *shorter = nullptr;
        {
            const Limit nothing(0);
            longer = this->heap.reallocate(p, before * 20);
            shorter = this->heap.reallocate(p, 10);
        }
        EXPECT_EQ(longer, nullptr);
        EXPECT_EQ(shorter, p);
        EXPECT_EQ(this->heap.getSize(p), 10u);
        EXPECT_EQ(std::count(p, p + before, 0xff), 10);
        this->heap.free(p);
    }
}

TYPED_TEST(HardenedLayers, AlignAsAsked) {
    for (std::size_t alignment = 1; alignment <= 1_MiB; alignment *= 2) {
        void *const p = this->heap.memalign(alignment, 100);
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(is_aligned(p, alignment)) << alignment;
        EXPECT_EQ(this->heap.getSize(p), 100u);
        this->heap.free(p);
    }
    EXPECT_EQ(this->heap.memalign(std::size_t{1} << 63, 100), nullptr);
    EXPECT_EQ(this->heap.malloc(PTRDIFF_MAX), nullptr);
}

TEST(RandomPlaces, FindsWritesIntoFreedBlocks) {
    Noting::findings.clear();
    Random heap;
    auto *const p = static_cast<unsigned char *>(heap.malloc(500));
    heap.free(p);
    p[300] = 1;
    while (Noting::findings.empty()) {
        heap.free(heap.malloc(500));
    }
    EXPECT_EQ(Noting::findings.front().offset, 300u);
    EXPECT_EQ(the_fault(), Fault::written_after_free);
}

TEST(RandomPlaces, HoldsFreedBlocksAndPicksAtRandom) {
    Random heap;
    void *const p = heap.malloc(64);
    heap.free(p);
    std::set<void *> seen;
    for (int i = 0; i < 8; ++i) {
        void *const q = heap.malloc(64);
        EXPECT_NE(p, q);
        seen.insert(q);
        heap.free(q);
    }
    EXPECT_EQ(seen.size(), 8u);
}

TEST(RandomPlaces, KeepsHalfFree) {
    Random heap;
    std::set<void *> blocks;
    std::uintptr_t least = UINTPTR_MAX;
    for (int i = 0; i < 20000; ++i) {
        void *const p = heap.malloc(100);
        ASSERT_TRUE(blocks.insert(p).second);
        least = std::min(least, address_of(p));
    }
    // The largest region has at least half of all room, and half of that is free: gaps everywhere.
    int neighbours = 0;
    for (void *p : blocks) {
        neighbours += blocks.count(static_cast<char *>(p) + 112) != 0 ? 1 : 0;
    }
    EXPECT_LT(neighbours, 14000);
    for (void *p : blocks) {
        heap.free(p);
    }
}

TEST(RandomPlaces, UsesWhatIsHeldWhereMemoryIsOut) {
    Random heap;
    void *blocks[1024];
    void *const large = heap.malloc(1_MiB);
    blocks[0] = heap.malloc(200);
    std::size_t live = 1;
    const Limit no_more(test::address_space());
    const auto until_full = [&] {
        while (live < std::size(blocks) && (blocks[live] = heap.malloc(200)) != nullptr) {
            ++live;
        }
        return live;
    };
    const std::size_t first = until_full();
    EXPECT_LT(first, std::size(blocks)) << "a region has fewer places";
    heap.free(blocks[--live]);
    heap.free(blocks[--live]);
    EXPECT_EQ(until_full(), first) << "the two that were freed";
    heap.free(large);
    EXPECT_GT(until_full(), first) << "a region where the large block was";
    while (live > 0) {
        heap.free(blocks[--live]);
    }
}

} // namespace
} // namespace cairn
