// SPDX-License-Identifier: MIT
//
// What only a source can get wrong: that the operating system has everything back, and what happens at its
// limits.
#include <cairn/core/compose.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/source/buffer.hpp>
#include <cairn/source/mapping_table.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/pages.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>

#include "../process/works_filter.hpp"
#include "process_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cairn;

namespace {

using test::mapped;

/// Status 77: no seccomp filters here.
bool passed_or_skipped(int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

std::uintptr_t program_break() {
    return address_of(sbrk(0));
}

TEST(MmapHeap, UnmapsWhatIsFreedAndAtTheEndWhatIsNot) {
    void *freed = nullptr;
    void *kept = nullptr;
    void *aligned = nullptr;
    {
        MmapHeap heap;
        freed = heap.malloc(100'000);
        kept = heap.malloc(100'000);
        aligned = heap.memalign(1_MiB, 10'000);
        ASSERT_TRUE(freed != nullptr && kept != nullptr && aligned != nullptr);
        EXPECT_TRUE(mapped(freed));
        heap.free(freed);
        EXPECT_FALSE(mapped(freed));
        EXPECT_FALSE(heap.owns(freed));
        EXPECT_TRUE(mapped(static_cast<char *>(kept) + 99'999));
        EXPECT_TRUE(heap.owns(kept));
    }
    EXPECT_FALSE(mapped(kept));
    EXPECT_FALSE(mapped(static_cast<char *>(kept) + 99'999));
    EXPECT_FALSE(mapped(aligned));
}

TEST(MmapHeap, RoundsUpToPagesAndNoFurther) {
    const std::size_t page = platform::vm::page_size();
    MmapHeap heap;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, page - 1, page}) {
        void *const p = heap.malloc(size);
        EXPECT_EQ(heap.getSize(p), page);
    }
    EXPECT_EQ(heap.getSize(heap.malloc(page + 1)), 2 * page);
    EXPECT_EQ(heap.getSize(heap.memalign(16 * page, page)), page)
        << "the slack of an alignment is given back";
}

TEST(MmapHeapDeathTest, StopsAtAForeignPointer) {
    MmapHeap heap;
    void *const p = heap.malloc(10'000);
    EXPECT_DEATH(heap.free(static_cast<char *>(p) + 16), "cairn: free of 0x[0-9a-f]+, which is not a block");
    EXPECT_DEATH(heap.free(&heap), "not a block of this MmapHeap");
    heap.free(p);
    EXPECT_DEATH(heap.free(p), "not a block of this MmapHeap");
}

/// As for a hole in a mapping where the kernel has no further one for us.
TEST(MmapHeapDeathTest, GivesAtLeastThePagesBackWhereUnmappingIsRefused) {
    EXPECT_EXIT(
        {
            MmapHeap heap;
            auto *const p = static_cast<char *>(heap.malloc(100'000));
            std::fill_n(p, 100'000, 'x');
            void *const q = heap.memalign(1_MiB, 100'000);
            void *const live = heap.malloc(98'304);
            std::fill_n(static_cast<char *>(live), 98'304, 'x');
            process_test::Filter().deny(SYS_munmap, ENOMEM).install();
            heap.free(p);
            EXPECT_TRUE(mapped(p));
            EXPECT_EQ(test::resident(p, 98'304), 0u);
            EXPECT_TRUE(heap.owns(p)) << "so that nobody else has the address";
            // What is too long by an alignment is cut off in front, behind, or both.
            for (std::size_t wanted = 1_MiB; wanted <= 64_MiB; wanted *= 2) {
                EXPECT_EQ(heap.memalign(wanted, 100'000), nullptr);
            }
            EXPECT_TRUE(heap.owns(q));
            heap.clear();
            EXPECT_EQ(test::resident(live, 98'304), 0u);
            EXPECT_FALSE(heap.owns(live));
            _exit(testing::Test::HasFailure());
        },
        passed_or_skipped, "");
}

TEST(MmapHeapDeathTest, ABlockThatCanNotBeRecordedGoesBack) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs longer mappings for itself";
    }
    EXPECT_EXIT(
        {
            MmapHeap heap;
            const std::size_t page = platform::vm::page_size();
            process_test::Filter().deny_above(SYS_mmap, 1, static_cast<unsigned>(page), ENOMEM).install();
            unsigned blocks = 0;
            while (heap.malloc(page) != nullptr) { // until the table would be longer than a page
                ++blocks;
            }
            EXPECT_GE(blocks, 100u);
            const std::size_t before = test::address_space();
            EXPECT_EQ(heap.malloc(page), nullptr);
            EXPECT_EQ(test::address_space(), before);
            heap.clear();
            EXPECT_NE(heap.malloc(page), nullptr);
            _exit(testing::Test::HasFailure());
        },
        passed_or_skipped, "");
}

/// Takes mappings until the kernel allows no more; false if it allows very many.
bool take_all_mappings() {
    const std::size_t page = platform::vm::page_size(), pages = 140'000;
    auto *const area = static_cast<char *>(platform::vm::map(pages * page, platform::vm::nothing));
    for (std::size_t i = 1; i < pages; i += 2) {
        if (!platform::vm::allow(area + i * page, page)) {
            return true;
        }
    }
    return false;
}

TEST(MmapHeapDeathTest, IsClearedWhereTheKernelMakesNoHoleInAMapping) {
    if (platform::sanitized) {
        GTEST_SKIP() << "a sanitizer needs mappings for itself";
    }
    EXPECT_EXIT(
        {
            const std::size_t page = platform::vm::page_size();
            std::vector<char *> blocks(1000);
            void *others = nullptr;
            {
                MmapHeap heap;
                for (char *&block : blocks) {
                    block = static_cast<char *>(heap.malloc(page));
                    *block = 'x';
                    others = &block == &blocks[500] ? platform::vm::map(page) : others;
                }
                if (!take_all_mappings()) {
                    _exit(77);
                }
            }
            EXPECT_EQ(std::count_if(blocks.begin(), blocks.end(), mapped), 0);
            EXPECT_TRUE(mapped(others));
            _exit(testing::Test::HasFailure());
        },
        passed_or_skipped, "");
}

TEST(KernelPagesDeathTest, GivesAtLeastThePagesBackWhereUnmappingIsRefused) {
    EXPECT_EXIT(
        {
            KernelPages pages;
            auto *const p = static_cast<char *>(pages.map(98'304, 1));
            std::fill_n(p, 98'304, 'x');
            process_test::Filter().deny(SYS_munmap, ENOMEM).install();
            pages.unmap(p, 98'304);
            EXPECT_TRUE(mapped(p));
            EXPECT_EQ(test::resident(p, 98'304), 0u);
            auto *const q = static_cast<char *>(pages.map(98'304, 1_MiB));
            EXPECT_TRUE(q != nullptr && address_of(q) % 1_MiB == 0) << "nothing is cut off";
            _exit(testing::Test::HasFailure());
        },
        passed_or_skipped, "");
}

TEST(KernelPages, AreAlignedAndNoLongerThanAskedFor) {
    KernelPages pages;
    const std::size_t page = platform::vm::page_size();
    for (std::size_t alignment = 1; alignment <= 4_MiB; alignment *= 4) {
        auto *const start = static_cast<char *>(pages.map(page + 1, alignment));
        ASSERT_NE(start, nullptr);
        EXPECT_TRUE(is_aligned(start, std::max(alignment, page)));
        start[page] = 1;
        EXPECT_TRUE(mapped(start + 2 * page - 1));
        pages.unmap(start, page + 1);
        EXPECT_FALSE(mapped(start));
        EXPECT_FALSE(mapped(start + page));
    }
    EXPECT_EQ(pages.map(PTRDIFF_MAX, 1), nullptr);
    EXPECT_EQ(pages.map(SIZE_MAX, 1_MiB), nullptr);
}

TEST(MappingTable, AgreesWithAMap) {
    MappingTable table;
    std::map<std::uintptr_t, std::size_t> model;
    std::mt19937_64 random(1);
    const auto pointer = [](std::uintptr_t start) { return reinterpret_cast<const void *>(start); };
    EXPECT_EQ(table.length_of(pointer(4096)), 0u);
    for (int i = 0; i < 50'000; ++i) {
        // Few addresses, so that removals meet long runs of neighbours.
        const std::uintptr_t start = (1 + random() % (i < 25'000 ? 300 : 6000)) * 4096;
        if (model.contains(start)) {
            table.remove(pointer(start));
            model.erase(start);
        } else {
            const std::size_t length = 1 + random() % 1000;
            ASSERT_TRUE(table.put(pointer(start), length));
            model.emplace(start, length);
        }
        const std::uintptr_t other = (1 + random() % 6000) * 4096;
        ASSERT_EQ(table.length_of(pointer(other)), model.contains(other) ? model.at(other) : 0);
    }
    std::size_t seen = 0;
    table.for_each([&](void *start, std::size_t length) {
        ++seen;
        EXPECT_EQ(model.at(address_of(start)), length);
    });
    EXPECT_EQ(seen, model.size());
    table.release();
    EXPECT_EQ(table.length_of(pointer(model.begin()->first)), 0u);
}

TEST(SbrkHeap, LowersTheBreakAgain) {
    const std::uintptr_t before = program_break();
    {
        SbrkHeap heap;
        if (heap.malloc(1) == nullptr) {
            GTEST_SKIP() << "this C library's sbrk does not grow";
        }
        auto *const a = static_cast<char *>(heap.malloc(100));
        auto *const b = static_cast<char *>(heap.malloc(100));
        EXPECT_EQ(a + 112, b) << "block behind block";
        EXPECT_GT(program_break(), before);
        heap.clear();
        EXPECT_EQ(program_break(), before);
        heap.malloc(5000);
    }
    EXPECT_EQ(program_break(), before);
}

TEST(SbrkHeap, ShrinksOverInterleavedHeaps) {
    const std::uintptr_t before = program_break();
    auto one = std::make_unique<SbrkHeap>();
    auto *const first = static_cast<char *>(one->malloc(100'000));
    if (first == nullptr) {
        GTEST_SKIP() << "this C library's sbrk does not grow";
    }
    std::memset(first, 1, 100'000);
    auto two = std::make_unique<SbrkHeap>();
    ASSERT_NE(two->malloc(100'000), nullptr);
    auto *const third = static_cast<char *>(one->malloc(100'000));
    ASSERT_NE(third, nullptr);
    const std::uintptr_t all = program_break();
    EXPECT_GT(all, before + 300'000);

    one.reset(); // its upper stretch is on top and goes; the lower one is under the other heap: its pages go
    EXPECT_LT(program_break(), all - 90'000);
    EXPECT_GT(program_break(), before + 100'000);
    EXPECT_EQ(first[50'000], 0) << "the pages were given back and read as zero";
    two.reset();
    EXPECT_LE(program_break(), before + 110'000) << "down to the first heap's addresses, which stay used";
    sbrk(static_cast<std::intptr_t>(before - program_break()));
}

TEST(SbrkHeap, CanBeHeldAcrossAForkByAThread) {
    SbrkHeap::lock_break();
    std::atomic<bool> served{false};
    std::jthread thread([&] {
        SbrkHeap heap;
        heap.malloc(1);
        served = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(served) << "the lock would be held in the child, by nobody";
    const pid_t child = fork();
    SbrkHeap::unlock_break();
    if (child == 0) {
        SbrkHeap().malloc(1); // does not hang
        _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    thread.join();
    EXPECT_TRUE(served);
}

constinit StaticBufferHeap<1024> static_buffer;

TEST(StaticBufferHeap, IsThereBeforeTheFirstConstructor) {
    void *const p = static_buffer.malloc(1024);
    EXPECT_TRUE(static_buffer.owns(p));
    static_buffer.clear();
    using Shared = Compose<StaticBufferHeap<1024>, Unique<class TestBuffer>>;
    FreelistHeap<Shared> name;
    EXPECT_TRUE(Shared::shared_heap_owns(name.malloc(16)));
}

TEST(StaticBufferHeap, HandsOutExactlyWhatItHas) {
    StaticBufferHeap<1024> heap;
    EXPECT_EQ(heap.remaining(), 1024u);
    EXPECT_EQ(heap.malloc(1025), nullptr);
    void *const a = heap.malloc(1);
    EXPECT_EQ(heap.remaining(), 1008u);
    EXPECT_TRUE(heap.owns(a));
    EXPECT_FALSE(heap.owns(static_cast<char *>(a) + 16));
    EXPECT_FALSE(heap.owns(&a));
    EXPECT_EQ(heap.malloc(1009), nullptr);
    EXPECT_NE(heap.malloc(1008), nullptr);
    EXPECT_EQ(heap.remaining(), 0u);
    EXPECT_EQ(heap.malloc(1), nullptr);
    heap.clear();
    EXPECT_EQ(heap.remaining(), 1024u);
    EXPECT_NE(heap.malloc(1024), nullptr);
}

TEST(BufferHeap, HandsOutWhatItWasGivenAndNoMore) {
    alignas(16) unsigned char memory[128] = {};
    for (std::size_t from = 0; from <= 16; ++from) {
        for (std::size_t bytes = 0; bytes <= 64; ++bytes) {
            BufferHeap heap(memory + from, bytes);
            const std::size_t first = align_up(from, 16), end = align_down(from + bytes, 16);
            EXPECT_EQ(heap.remaining(), end > first ? end - first : 0);
            for (std::size_t at = first; at + 16 <= end; at += 16) {
                void *const p = heap.malloc(at % 32 == 0 ? 0 : 9);
                EXPECT_EQ(p, memory + at);
                EXPECT_TRUE(heap.owns(p));
            }
            EXPECT_EQ(heap.malloc(0), nullptr);
            EXPECT_EQ(heap.malloc(SIZE_MAX), nullptr);
            EXPECT_FALSE(heap.owns(memory + 96));
            heap.clear();
            EXPECT_EQ(heap.malloc(1) == memory + first, end > first);
        }
    }
    EXPECT_EQ(BufferHeap(nullptr, 0).malloc(0), nullptr);
    EXPECT_TRUE(std::ranges::all_of(memory, [](unsigned char c) { return c == 0; })) << "it writes nothing";
}

} // namespace
