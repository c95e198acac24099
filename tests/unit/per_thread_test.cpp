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

RemoteWord remote_word_of(const void *p) {
    return RemoteWord{remote_of(superblock::superblock_at(address_of(p)))->word.load()};
}

/// Of two heaps with full superblocks, the heir gets the one that has its block, though the other one was left last. A
/// thread that begins with a malloc gets one without superblocks.
TEST_F(PerThreadTest, AnHeirFreesTheBlocksOfAnEndedThreadAsItsOwner) {
    Refusing::refuses = false;
    std::vector<void *> first(64), last(64); // eight to a superblock
    const auto fill = [&](std::vector<void *> &blocks) {
        for (void *&p : blocks) {
            p = heap_->malloc(8_KiB);
        }
    };
    std::thread([&] {
        fill(last);
        std::thread([&] {
            fill(first);
            heap_->detach();
        }).join();
        heap_->detach();
    }).join();
    EXPECT_NE(remote_word_of(first[0]).owner(), remote_word_of(last[0]).owner());
    std::thread([&] {
        const unsigned owner = remote_word_of(first[0]).owner();
        ASSERT_NE(owner, 0u);
        heap_->free(first[0]);
        EXPECT_EQ(remote_word_of(first[1]).owner(), owner);
        EXPECT_EQ(remote_word_of(first[1]).count(), 0u) << "not as another thread";
        for (std::size_t i = 1; i < first.size(); ++i) {
            heap_->free(first[i]);
        }
        heap_->detach();
    }).join();
    std::thread([&] {
        EXPECT_NE(remote_word_of(last[0]).owner(), 0u);
        heap_->free(heap_->malloc(16)); // gets the heap that was left last, the first one again
        std::thread([&] {
            heap_->free(heap_->malloc(16));
            EXPECT_EQ(remote_word_of(last[0]).owner(), 0u) << "no heir has superblocks of another thread";
            heap_->detach();
        }).join();
        heap_->detach();
    }).join();
    std::thread([&] { // and once more: each heap without a thread was taken, or is empty
        heap_->free(heap_->malloc(16));
        for (void *const p : last) {
            heap_->free(p);
        }
        heap_->detach();
    })
        .join();
    EXPECT_EQ(now().live(), 0u);
}

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
