// SPDX-License-Identifier: MIT
//
// The tests of the suite, for any heap.
#include "suite.hpp"

#include <mutex>
#include <thread>

// So that a request which no machine can serve is nullptr under the sanitizers too.
extern "C" const char *__asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options() {
    return "allocator_may_return_null=1";
}

namespace cairn::conformance {

namespace {

/// A number that the compiler can not know, so that it does not warn of what a test does on purpose.
std::size_t hidden(std::size_t n) {
    volatile std::size_t unknown = n;
    return unknown;
}

/// Sizes worth a test: all the small ones, and those around powers of two.
std::vector<std::size_t> sizes(const Requests &requests, std::size_t largest) {
    largest = std::min(largest, requests.max_size);
    if (requests.fixed_size != 0) {
        return {requests.fixed_size};
    }
    std::vector<std::size_t> all;
    for (std::size_t size = 0; size <= 260 && size <= largest; ++size) {
        all.push_back(size);
    }
    for (std::size_t power = 512; power - 1 <= largest; power *= 2) {
        for (const std::size_t size : {power - 1, power, power + 1, power + power / 2}) {
            if (size <= largest) {
                all.push_back(size);
            }
        }
    }
    return all;
}

} // namespace

void suite::all_sizes_alone_in_a_new_heap(const Kind &kind) {
    for (const std::size_t size : sizes(kind.requests, 1_GiB)) {
        SCOPED_TRACE(size);
        const AnyInstance heap = kind.create();
        AnyDriver driver(*heap, kind.requests, 1, 1_GiB);
        driver.malloc_one(size);
        driver.model.check_all();
        driver.model.free_all();
    }
}

void suite::all_sizes_together_are_disjoint_and_keep_their_contents(const Kind &kind) {
    const AnyInstance heap = kind.create();
    AnyDriver driver(*heap, kind.requests, 2, 256_KiB);
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t size : sizes(kind.requests, 256_KiB)) {
            driver.malloc_one(size);
        }
        driver.model.check_all();
        if (round == 1) {
            driver.model.free_all();
        }
    }
    driver.model.free_all();
}

void suite::random_operations_agree_with_the_model(const Kind &kind) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        const AnyInstance heap = kind.create();
        AnyDriver driver(*heap, kind.requests, seed, seed == 5 ? 1_MiB : 64_KiB);
        driver.run(2000, seed % 2 == 0 ? 400 : 20);
        driver.model.free_all();
        driver.run(200, 50);
        driver.model.free_all();
    }
}

void suite::what_no_machine_has_is_nullptr(const Kind &kind) {
    if (kind.requests.fixed_size != 0) {
        return;
    }
    const AnyInstance heap = kind.create();
    AnyDriver driver(*heap, kind.requests, 3, 64_KiB);
    driver.malloc_one(100);
    for (std::size_t below_top = 0; below_top < 8200; below_top += below_top < 70 ? 1 : 61) {
        EXPECT_EQ(heap->malloc(hidden(SIZE_MAX) - below_top), nullptr) << "SIZE_MAX - " << below_top;
        EXPECT_EQ(heap->malloc(hidden(PTRDIFF_MAX) - below_top), nullptr) << "PTRDIFF_MAX - " << below_top;
        EXPECT_EQ(heap->malloc(hidden(PTRDIFF_MAX) + below_top), nullptr) << "PTRDIFF_MAX + " << below_top;
        if (kind.can.memalign != nullptr) {
            EXPECT_EQ(heap->memalign(64, hidden(SIZE_MAX) - below_top), nullptr);
            EXPECT_EQ(heap->memalign(64_KiB, hidden(SIZE_MAX) - below_top), nullptr);
        }
        if (kind.can.malloc_zeroed != nullptr) {
            EXPECT_EQ(heap->malloc_zeroed(hidden(SIZE_MAX) - below_top), nullptr);
        }
    }
    driver.malloc_one(100);
    driver.model.check_all();
    driver.model.free_all();
}

void suite::out_of_memory_at_every_step_is_an_answer(const Kind &kind) {
    if (kind.create_over_watched == nullptr) {
        return;
    }
    const auto run = [&](Below below, std::size_t first, std::size_t last) {
        SCOPED_TRACE(first);
        ledger().open(first, last);
        {
            const AnyInstance heap = kind.create_over_watched();
            AnyDriver driver(*heap, kind.requests_over_watched, 4, 64_KiB, below);
            driver.run(150, 40);
            driver.model.free_all();
        }
        EXPECT_TRUE(ledger().live.empty()) << ledger().live.size() << " blocks were not given back";
        return ledger().failures != 0 && !testing::Test::HasFailure();
    };
    std::size_t steps = 0;
    while (run(Below::refuses_once, steps + 1, steps + 1)) {
        ++steps;
    }
    EXPECT_GT(steps, 0u) << "the source was never asked";
    for (std::size_t first = 1; first <= steps; ++first) {
        run(Below::refuses, first, Ledger::never);
    }
}

void suite::destroying_it_gives_everything_back(const Kind &kind) {
    if (kind.create_over_watched == nullptr) {
        return;
    }
    for (const bool free_before : {true, false}) {
        if (!free_before && !kind.releases_live) {
            continue;
        }
        ledger().open();
        {
            const AnyInstance heap = kind.create_over_watched();
            AnyDriver driver(*heap, kind.requests_over_watched, 5, 256_KiB);
            driver.run(1000, 300);
            if (free_before) {
                driver.model.free_all();
            }
        }
        EXPECT_GT(ledger().requests, 0u);
        EXPECT_TRUE(ledger().live.empty()) << ledger().live.size() << " blocks were not given back";
    }
}

void suite::freed_memory_is_used_again(const Kind &kind) {
    if (kind.create_over_watched == nullptr || !kind.reuses) {
        return;
    }
    ledger().open();
    const AnyInstance heap = kind.create_over_watched();
    std::size_t peak = 0;
    for (int round = 0; round < 20; ++round) {
        AnyDriver driver(*heap, kind.requests_over_watched, 6, 64_KiB);
        for (const std::size_t size : sizes(kind.requests, 64_KiB)) {
            driver.malloc_one(size);
            driver.malloc_one(size);
        }
        driver.model.free_all();
        peak = round == 0 ? ledger().peak_bytes : peak;
    }
    EXPECT_EQ(ledger().peak_bytes, peak) << "the same requests again took more memory";
}

void suite::cleared_it_is_as_new(const Kind &kind) {
    if (kind.can.clear != nullptr) {
        const AnyInstance heap = kind.create();
        for (int round = 0; round < 5; ++round) {
            AnyDriver driver(*heap, kind.requests, 7, 64_KiB);
            driver.run(300, 300);
            driver.model.forget_all();
            heap->clear();
        }
    }
    if (kind.create_over_watched != nullptr) {
        const AnyInstance heap = kind.create_over_watched();
        if (heap->can().clear != nullptr) {
            ledger().open();
            AnyDriver driver(*heap, kind.requests_over_watched, 7, 64_KiB);
            driver.run(300, 300);
            driver.model.forget_all();
            heap->clear();
            EXPECT_TRUE(ledger().live.empty());
        }
    }
}

void suite::heaps_side_by_side_are_apart(const Kind &kind) {
    if (!kind.has_many) {
        return;
    }
    const AnyInstance one = kind.create();
    AnyDriver first(*one, kind.requests, 8, 64_KiB);
    {
        const AnyInstance other = kind.create();
        AnyDriver second(*other, kind.requests, 9, 64_KiB);
        for (int turn = 0; turn < 10; ++turn) {
            first.run(50, 200);
            second.run(50, 200);
        }
        first.model.check_all();
        second.model.check_all();
        second.model.free_all();
    }
    first.model.check_all();
    first.run(50, 200);
    first.model.free_all();
}

void suite::alignments_up_to_a_megabyte(const Kind &kind) {
    if (kind.can.memalign == nullptr) {
        return;
    }
    const AnyInstance heap = kind.create();
    Model model(*heap);
    for (std::size_t wanted = 1; wanted <= 1_MiB; wanted *= 2) {
        for (const std::size_t size :
             std::vector<std::size_t>{1, 8, 24, 100, 4000, 4096, 9000, 20000, 40000, 100000}) {
            model.admit(heap->memalign(wanted, size), size, wanted);
        }
    }
    model.check_all();
    model.free_all();
}

void suite::nothing_is_as_in_c(const Kind &kind) {
    if (!kind.c_semantics) {
        return;
    }
    const AnyInstance instance = kind.create();
    const AnyHeap heap = *instance;
    ASSERT_TRUE(heap.can().reallocate != nullptr && heap.can().calloc != nullptr);
    heap.free(nullptr);
    void *const a = heap.malloc(0);
    void *const b = heap.malloc(0);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(b, nullptr);
    EXPECT_NE(a, b);
    heap.free(a);
    void *c = heap.reallocate(nullptr, 40);
    ASSERT_NE(c, nullptr);
    std::memset(c, 7, 40);
    EXPECT_EQ(heap.reallocate(c, hidden(PTRDIFF_MAX) + 1), nullptr);
    EXPECT_EQ(heap.reallocate(c, hidden(SIZE_MAX)), nullptr);
    EXPECT_EQ(static_cast<char *>(c)[39], 7) << "a failed reallocate leaves the block as it was";
    EXPECT_EQ(heap.reallocate(c, 0), nullptr);
    EXPECT_EQ(heap.calloc(hidden(SIZE_MAX / 2), 3), nullptr);
    EXPECT_EQ(heap.calloc(hidden(SIZE_MAX / 16 + 2), 16), nullptr) << "wraps to 16";
    void *const d = heap.calloc(0, 8);
    EXPECT_NE(d, nullptr);
    void *const e = heap.calloc(10, 10);
    ASSERT_NE(e, nullptr);
    EXPECT_EQ(std::count(static_cast<char *>(e), static_cast<char *>(e) + 100, 0), 100);
    heap.free(b);
    heap.free(d);
    heap.free(e);
}

void suite::threads_may_call_at_once(const Kind &kind) {
    if (!kind.thread_safe) {
        return;
    }
    const AnyInstance heap = kind.create();
    struct Gift {
        unsigned char *block;
        std::size_t size;
    };
    std::mutex mutex;
    std::vector<Gift> gifts; // allocated by one thread, freed by another
    const auto work = [&](std::uint64_t seed) {
        AnyDriver driver(*heap, kind.requests, seed, 4_KiB);
        for (int turn = 0; turn < 100; ++turn) {
            driver.run(20, 50);
            const std::size_t size = std::max<std::size_t>(1, driver.random_size() % 512);
            const std::size_t fixed_size = kind.requests.fixed_size;
            Gift gift{static_cast<unsigned char *>(heap->malloc(fixed_size != 0 ? fixed_size : size)), size};
            ASSERT_NE(gift.block, nullptr);
            std::memset(gift.block, static_cast<int>(size % 251), size);
            {
                const std::scoped_lock lock(mutex);
                gifts.push_back(gift);
                std::swap(gift, gifts[gifts.size() / 2]);
                gifts.pop_back();
                if (gifts.size() < 20) {
                    gifts.push_back(gift);
                    continue;
                }
            }
            EXPECT_EQ(std::count(gift.block, gift.block + gift.size, gift.size % 251),
                      static_cast<std::ptrdiff_t>(gift.size));
            heap->free(gift.block);
        }
        driver.model.free_all();
    };
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        threads.emplace_back(work, seed);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Gift &gift : gifts) {
        heap->free(gift.block);
    }
}

} // namespace cairn::conformance
