// SPDX-License-Identifier: MIT
//
// PerThread: a heap whose thread's end would not be known is not kept; such threads share one.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace cairn;

namespace {

struct Refusing {
    static inline std::atomic<unsigned> asked{0};
    static inline std::atomic<bool> refuses{true};
    static bool attached() noexcept {
        ++asked;
        return !refuses;
    }
    static void grew() noexcept {}
    static void surplus() noexcept {}
    static void returned() noexcept {}
};

/// Its lock and its numbers are constant-initialised in a malloc; here each test has one for itself.
class PerThreadTest : public testing::Test {
protected:
    Statistics now() {
        Statistics out;
        heap_->statistics(out);
        return out;
    }

    void use() {
        std::vector<char *> blocks(3000);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            blocks[i] = static_cast<char *>(heap_->malloc(1 + i));
            ASSERT_NE(blocks[i], nullptr);
            std::memset(blocks[i], static_cast<int>(i), 1 + i);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            ASSERT_EQ(blocks[i][i], static_cast<char>(i));
            heap_->free(blocks[i]);
        }
    }

    std::unique_ptr<Flagship<Refusing>> heap_ = std::make_unique<Flagship<Refusing>>();
};

TEST_F(PerThreadTest, ThreadsWhoseEndIsNotToldShareAHeap) {
    Refusing::refuses = true;
    Refusing::asked = 0;
    use();
    EXPECT_GT(Refusing::asked, 0u);
    EXPECT_EQ(now().heaps, 1u) << "what was opened for the thread was given back";
    for (int i = 0; i < 4; ++i) {
        std::thread([&] {
            use();
            heap_->detach(); // it has none of its own
        }).join();
    }
    EXPECT_EQ(now().heaps, 1u);
    EXPECT_LE(now().heaps_peak, 2u) << "the shared one, and one that is tried";
    EXPECT_EQ(now().live(), 0u);

    Refusing::refuses = false;
    use();
    EXPECT_EQ(now().heaps, 2u) << "asked again, it is kept";
    heap_->detach();
    EXPECT_EQ(now().heaps, 1u);
    EXPECT_EQ(now().live(), 0u);
}

/// For ThreadSanitizer: what stands for the heap of each of them is one object.
TEST_F(PerThreadTest, ThreadsWithoutAHeapOfTheirOwnRunAtOneTime) {
    Refusing::refuses = true;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                use();
                heap_->trim(0);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(now().heaps, 1u);
    EXPECT_EQ(now().live(), 0u);
}

} // namespace
