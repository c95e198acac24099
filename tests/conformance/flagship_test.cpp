// SPDX-License-Identifier: MIT
//
// The flagship as a heap like any other: the suite on the one heap of a process, and what the suite can not ask
// because there is no source below but the kernel: memory is short, and memory goes back.
#include "../unit/process_memory.hpp"
#include "suite.hpp"

#include <allocators/cairn.hpp>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::conformance {

namespace {

/// A Hooks for tests: `Number` makes heaps that share no thread's pointer.
template <int Number>
struct TestLife {
    static bool attached();
    static void grew() noexcept {}
    static void surplus() {}
    static void returned() {}
};

template <int Number>
constinit Flagship<TestLife<Number>> the_heap;

/// The end of a thread hands its heap over.
template <int Number>
bool TestLife<Number>::attached() {
    struct Ending {
        ~Ending() { the_heap<Number>.detach(); }
    };
    thread_local const Ending ending;
    static_cast<void>(&ending);
    return true;
}

template <int Number>
struct OneHeap : Row<Flagship<TestLife<Number>>> {
    using Heap = Flagship<TestLife<Number>>;

    static constexpr bool has_many = false;
    static constexpr bool thread_safe = true;
    static constexpr std::size_t alignment_for(std::size_t size) { return size <= 8 ? 8 : 16; }

    static Heap *create() { return &the_heap<Number>; }
    /// Everything was freed: all of it is back with the kernel but for addresses and descriptors.
    static void destroy(Heap *heap) {
        heap->detach();
        heap->trim(0);
        Statistics now;
        heap->statistics(now);
        EXPECT_EQ(now.live(), 0u);
        EXPECT_EQ(now.superblocks, 0u);
        EXPECT_EQ(now.small_resident, 0u);
        EXPECT_EQ(now.free_dirty, 0u);
        EXPECT_EQ(now.heaps, 0u);
    }
};

using FlagshipRow = OneHeap<0>;
using ShortRow = OneHeap<1>; ///< used in child processes alone: each begins with a heap that has nothing

static_assert(includes(capabilities_of<FlagshipRow::Heap>,
                       Capability::aligned | Capability::reallocating | Capability::zeroing));

TEST(Flagship, UsableBytesAreAtLeastWhatWasAskedFor) {
    const Instance<FlagshipRow> heap;
    for (std::size_t size = 0; size <= 1_GiB; size += 1 + size / 9) {
        auto *const p = static_cast<char *>((*heap).malloc(size));
        ASSERT_NE(p, nullptr) << size << ": 0 bytes have an address too";
        const std::size_t usable = (*heap).getSize(p);
        EXPECT_GE(usable, size);
        EXPECT_LE(usable,
                  std::max(size + 15, size + size / 5) + (size > 64_KiB ? platform::smallest_page : 0));
        if (usable != 0) {
            p[usable - 1] = 1; // it may be used
        }
        (*heap).free(p);
    }
    (*heap).free(nullptr);
}

TEST(Flagship, TheSameRequestsAgainTakeNoMoreMemory) {
    const Instance<FlagshipRow> heap;
    std::size_t mapped = 0;
    std::size_t resident = 0;
    for (int round = 0; round < 10; ++round) {
        Driver<FlagshipRow> driver(*heap, 6, 256_KiB);
        driver.run(3000, 600);
        Statistics now;
        (*heap).statistics(now);
        mapped = round == 0 ? now.mapped : mapped;
        resident = round == 0 ? now.small_resident + now.large_live + now.free_dirty : resident;
        EXPECT_EQ(now.mapped, mapped);
        EXPECT_LE(now.small_resident + now.large_live + now.free_dirty, resident * 5 / 4 + 1_MiB);
        driver.model.free_all();
    }
}

TEST(Flagship, WhatIsFreedGoesBackWithoutTheHeapsEnd) {
    const Instance<FlagshipRow> heap;
    Driver<FlagshipRow> driver(*heap, 10, 1_MiB);
    driver.run(3000, 1000);
    driver.model.free_all();
    (*heap).trim(0);
    Statistics now;
    (*heap).statistics(now);
    EXPECT_EQ(now.free_dirty, 0u);
    std::size_t in_bins = 0; // one superblock a class at most
    for (std::uint32_t c = 0; c < now.size_classes; ++c) {
        EXPECT_LE(now.by_class[c].superblocks, 1u) << now.by_class[c].block_size;
        in_bins += now.by_class[c].superblocks;
    }
    EXPECT_EQ(now.superblocks, in_bins);
    EXPECT_EQ(now.heaps, 1u);
}

/// Runs f in a child process whose address space ends `bytes` from where it is.
template <class F>
void where_space_is_short(std::size_t bytes, F f) {
    std::fflush(nullptr);
    const bool failed_before = testing::Test::HasFailure();
    const pid_t child = fork();
    if (child == 0) {
        test::limit_address_space(bytes);
        f(the_heap<1>);
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() && !failed_before);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

class ShortOfSpace : public testing::Test {
protected:
    void SetUp() override {
        if (platform::sanitized) {
            GTEST_SKIP() << "a sanitizer needs address space without limit";
        }
        // What the model needs for itself is there beforehand.
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        std::free(std::malloc(16_MiB));
    }
};

/// From not enough for a first segment to plenty for the driver's blocks.
TEST_F(ShortOfSpace, EveryAnswerIsABlockOrNullptr) {
    for (std::size_t limit = 0; limit <= 48_MiB; limit += limit < 8_MiB ? 1_MiB : 4_MiB) {
        SCOPED_TRACE(limit);
        where_space_is_short(limit, [&](auto &heap) {
            Driver<ShortRow> driver(heap, limit, 1_MiB, Below::refuses);
            driver.run(1500, 300);
            driver.model.free_all();
            driver.run(200, 50);
            driver.model.free_all();
            ShortRow::destroy(&heap);
        });
    }
}

/// What was freed can be had again, and a request that is small enough is served after one that was not.
TEST_F(ShortOfSpace, AfterARefusalTheHeapGoesOn) {
    for (const std::size_t size :
         {std::size_t{16}, std::size_t{600}, 8_KiB, 9_KiB, 60_KiB, 100_KiB, 3_MiB, 17_MiB}) {
        SCOPED_TRACE(size);
        where_space_is_short(100_MiB, [&](auto &heap) {
            heap.free(heap.malloc(1)); // the thread has its heap
            constexpr std::size_t most = 10'000'000;
            std::size_t count = 0;
            void **last = nullptr; // each block holds the one before
            for (; count < most; ++count) {
                auto **const p = static_cast<void **>(heap.malloc(size));
                if (p == nullptr) {
                    break;
                }
                *p = last;
                last = p;
            }
            EXPECT_GE(count * size, 60_MiB) << "most of it was to be had";
            EXPECT_EQ(heap.malloc(size), nullptr);
            EXPECT_EQ(heap.malloc(1_GiB), nullptr);
            EXPECT_EQ(heap.memalign(64_KiB, 200_MiB), nullptr);
            EXPECT_EQ(heap.reallocate(last, 200_MiB), nullptr);
            for (int i = 0; i < 100 && last != nullptr; ++i) { // free one, get one
                void **const next = static_cast<void **>(*last);
                heap.free(last);
                last = static_cast<void **>(heap.malloc(size));
                EXPECT_NE(last, nullptr) << i;
                if (last != nullptr) {
                    *last = next;
                }
            }
            while (last != nullptr) {
                void **const next = static_cast<void **>(*last);
                heap.free(last);
                last = next;
            }
            for (const std::size_t other : {std::size_t{16}, 1_KiB, 20_KiB, 1_MiB, 20_MiB}) {
                void *const p = heap.malloc(other);
                EXPECT_NE(p, nullptr) << other << " bytes, when all is free again";
                heap.free(p);
            }
            ShortRow::destroy(&heap);
        });
    }
}

} // namespace

using Rows = testing::Types<FlagshipRow>;
INSTANTIATE_TYPED_TEST_SUITE_P(Flagship, Conformance, Rows);

/// A thread's first small block, when large ones have used up the address space and are free again.
TEST_F(ShortOfSpace, AThreadGetsItsHeapOutOfWhatIsFree) {
    where_space_is_short(32_MiB, [](auto &heap) {
        void **last = nullptr;
        while (auto **const p = static_cast<void **>(heap.malloc(100_KiB))) {
            *p = last;
            last = p;
        }
        while (platform::vm::map(platform::vm::page_size()) != nullptr) { // what is left of the space
        }
        while (last != nullptr) {
            void **const next = static_cast<void **>(*last);
            heap.free(last);
            last = next;
        }
        void *const p = heap.malloc(16);
        EXPECT_NE(p, nullptr);
        heap.free(p);
    });
}

} // namespace cairn::conformance
