// SPDX-License-Identifier: MIT
//
// The conformance suite: what every heap of the project must do, whatever it is made of. A test file
// describes its heaps as rows (traits.hpp) and says
//
//     using Rows = testing::Types<FreelistRow, ...>;
//     INSTANTIATE_TYPED_TEST_SUITE_P(Freelist, Conformance, Rows);
//
// A test that a heap has not the capability for says nothing.
#pragma once

#include "driver.hpp"

#include <mutex>
#include <thread>

// So that a request which no machine can serve is nullptr under the sanitizers too. Not inline: their
// runtimes have weak definitions, and each program includes this header once.
// NOLINTBEGIN(misc-definitions-in-headers)
extern "C" const char *__asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options() {
    return "allocator_may_return_null=1";
}
// NOLINTEND(misc-definitions-in-headers)

namespace cairn::conformance {

/// A number that the compiler can not know, so that it does not warn of what a test does on purpose.
inline std::size_t hidden(std::size_t n) {
    volatile std::size_t unknown = n;
    return unknown;
}

template <class T>
class Conformance : public testing::Test {
protected:
    using Heap = typename T::Heap;

    /// Sizes worth a test: all the small ones, and those around powers of two.
    static std::vector<std::size_t> sizes(std::size_t largest) {
        largest = std::min(largest, T::max_size);
        if constexpr (T::fixed_size != 0) {
            return {T::fixed_size};
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
};
TYPED_TEST_SUITE_P(Conformance);

TYPED_TEST_P(Conformance, AllSizesAloneInANewHeap) {
    for (const std::size_t size : TestFixture::sizes(1_GiB)) {
        SCOPED_TRACE(size);
        const Instance<TypeParam> heap;
        Driver<TypeParam> driver(*heap, 1, 1_GiB);
        driver.malloc_one(size);
        driver.model.check_all();
        driver.model.free_all();
    }
}

TYPED_TEST_P(Conformance, AllSizesTogetherAreDisjointAndKeepTheirContents) {
    const Instance<TypeParam> heap;
    Driver<TypeParam> driver(*heap, 2, 256_KiB);
    for (int round = 0; round < 3; ++round) {
        for (const std::size_t size : TestFixture::sizes(256_KiB)) {
            driver.malloc_one(size);
        }
        driver.model.check_all();
        if (round == 1) {
            driver.model.free_all();
        }
    }
    driver.model.free_all();
}

TYPED_TEST_P(Conformance, RandomOperationsAgreeWithTheModel) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        const Instance<TypeParam> heap;
        Driver<TypeParam> driver(*heap, seed, seed == 5 ? 1_MiB : 64_KiB);
        driver.run(2000, seed % 2 == 0 ? 400 : 20);
        driver.model.free_all();
        driver.run(200, 50);
        driver.model.free_all();
    }
}

TYPED_TEST_P(Conformance, WhatNoMachineHasIsNullptr) {
    if constexpr (TypeParam::fixed_size == 0) {
        const Instance<TypeParam> heap;
        Driver<TypeParam> driver(*heap, 3, 64_KiB);
        driver.malloc_one(100);
        for (std::size_t below_top = 0; below_top < 8200; below_top += below_top < 70 ? 1 : 61) {
            EXPECT_EQ((*heap).malloc(hidden(SIZE_MAX) - below_top), nullptr) << "SIZE_MAX - " << below_top;
            EXPECT_EQ((*heap).malloc(hidden(PTRDIFF_MAX) - below_top), nullptr)
                << "PTRDIFF_MAX - " << below_top;
            EXPECT_EQ((*heap).malloc(hidden(PTRDIFF_MAX) + below_top), nullptr)
                << "PTRDIFF_MAX + " << below_top;
            if constexpr (AlignedHeap<typename TypeParam::Heap>) {
                EXPECT_EQ((*heap).memalign(64, hidden(SIZE_MAX) - below_top), nullptr);
                EXPECT_EQ((*heap).memalign(64_KiB, hidden(SIZE_MAX) - below_top), nullptr);
            }
            if constexpr (ZeroingHeap<typename TypeParam::Heap>) {
                EXPECT_EQ((*heap).malloc_zeroed(hidden(SIZE_MAX) - below_top), nullptr);
            }
        }
        driver.malloc_one(100);
        driver.model.check_all();
        driver.model.free_all();
    }
}

TYPED_TEST_P(Conformance, OutOfMemoryAtEveryStepIsAnAnswer) {
    if constexpr (OverAnySource<TypeParam>) {
        using H = typename TypeParam::template Over<WatchedSource>;
        const auto run = [](Below below, std::size_t first, std::size_t last) {
            SCOPED_TRACE(first);
            ledger().open(first, last);
            {
                H heap;
                Driver<TypeParam, H> driver(heap, 4, 64_KiB, below);
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
}

TYPED_TEST_P(Conformance, DestroyingItGivesEverythingBack) {
    if constexpr (OverAnySource<TypeParam>) {
        using H = typename TypeParam::template Over<WatchedSource>;
        for (const bool free_before : {true, false}) {
            if (!free_before && !TypeParam::releases_live) {
                continue;
            }
            ledger().open();
            {
                H heap;
                Driver<TypeParam, H> driver(heap, 5, 256_KiB);
                driver.run(1000, 300);
                if (free_before) {
                    driver.model.free_all();
                }
            }
            EXPECT_GT(ledger().requests, 0u);
            EXPECT_TRUE(ledger().live.empty()) << ledger().live.size() << " blocks were not given back";
        }
    }
}

TYPED_TEST_P(Conformance, FreedMemoryIsUsedAgain) {
    if constexpr (OverAnySource<TypeParam> && TypeParam::reuses) {
        using H = typename TypeParam::template Over<WatchedSource>;
        ledger().open();
        H heap;
        std::size_t peak = 0;
        for (int round = 0; round < 20; ++round) {
            Driver<TypeParam, H> driver(heap, 6, 64_KiB);
            for (const std::size_t size : TestFixture::sizes(64_KiB)) {
                driver.malloc_one(size);
                driver.malloc_one(size);
            }
            driver.model.free_all();
            peak = round == 0 ? ledger().peak_bytes : peak;
        }
        EXPECT_EQ(ledger().peak_bytes, peak) << "the same requests again took more memory";
    }
}

TYPED_TEST_P(Conformance, ClearedItIsAsNew) {
    if constexpr (ClearableHeap<typename TypeParam::Heap>) {
        const Instance<TypeParam> heap;
        for (int round = 0; round < 5; ++round) {
            Driver<TypeParam> driver(*heap, 7, 64_KiB);
            driver.run(300, 300);
            driver.model.forget_all();
            (*heap).clear();
        }
    }
    if constexpr (OverAnySource<TypeParam>) {
        using H = typename TypeParam::template Over<WatchedSource>;
        if constexpr (ClearableHeap<H>) {
            ledger().open();
            H heap;
            Driver<TypeParam, H> driver(heap, 7, 64_KiB);
            driver.run(300, 300);
            driver.model.forget_all();
            heap.clear();
            EXPECT_TRUE(ledger().live.empty());
        }
    }
}

TYPED_TEST_P(Conformance, HeapsSideBySideAreApart) {
    if constexpr (TypeParam::has_many) {
        const Instance<TypeParam> one;
        Driver<TypeParam> first(*one, 8, 64_KiB);
        {
            const Instance<TypeParam> other;
            Driver<TypeParam> second(*other, 9, 64_KiB);
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
}

TYPED_TEST_P(Conformance, AlignmentsUpToAMegabyte) {
    if constexpr (AlignedHeap<typename TypeParam::Heap>) {
        const Instance<TypeParam> heap;
        Model<typename TypeParam::Heap> model(*heap);
        for (std::size_t wanted = 1; wanted <= 1_MiB; wanted *= 2) {
            for (const std::size_t size : std::vector<std::size_t>{1, 8, 24, 100, 4000, 4096, 100000}) {
                model.admit((*heap).memalign(wanted, size), size, wanted);
            }
        }
        model.check_all();
        model.free_all();
    }
}

TYPED_TEST_P(Conformance, NothingIsAsInC) {
    if constexpr (TypeParam::c_semantics) {
        const Instance<TypeParam> instance;
        auto &heap = *instance;
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
}

TYPED_TEST_P(Conformance, ThreadsMayCallAtOnce) {
    if constexpr (TypeParam::thread_safe) {
        const Instance<TypeParam> heap;
        struct Gift {
            unsigned char *block;
            std::size_t size;
        };
        std::mutex mutex;
        std::vector<Gift> gifts; // allocated by one thread, freed by another
        const auto work = [&](std::uint64_t seed) {
            Driver<TypeParam> driver(*heap, seed, 4_KiB);
            for (int turn = 0; turn < 100; ++turn) {
                driver.run(20, 50);
                const std::size_t size = std::max<std::size_t>(1, driver.random_size() % 512);
                Gift gift{static_cast<unsigned char *>(
                              (*heap).malloc(TypeParam::fixed_size != 0 ? TypeParam::fixed_size : size)),
                          size};
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
                (*heap).free(gift.block);
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
            (*heap).free(gift.block);
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(Conformance, AllSizesAloneInANewHeap,
                            AllSizesTogetherAreDisjointAndKeepTheirContents,
                            RandomOperationsAgreeWithTheModel, WhatNoMachineHasIsNullptr,
                            OutOfMemoryAtEveryStepIsAnAnswer, DestroyingItGivesEverythingBack,
                            FreedMemoryIsUsedAgain, ClearedItIsAsNew, HeapsSideBySideAreApart,
                            AlignmentsUpToAMegabyte, NothingIsAsInC, ThreadsMayCallAtOnce);

} // namespace cairn::conformance
