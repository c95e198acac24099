// SPDX-License-Identifier: MIT
//
// The flagship under threads that allocate, free, pass blocks on and end, with every block's contents checked
// and the accounts compared at the end. Most telling under ThreadSanitizer and in a debug build (lock ranks).
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

struct TestLife {
    static bool attached() { return true; }
    static void grew() noexcept {}
    static void surplus() {}
};
using Heap = cairn::Flagship<TestLife>;
constinit Heap heap;

struct Block {
    unsigned char *bytes = nullptr;
    std::size_t size = 0;
    unsigned char pattern = 0;
};

Block make(std::mt19937_64 &random, std::size_t largest) {
    Block block;
    const unsigned bits = static_cast<unsigned>(random() % (cairn::log2_floor(largest) + 1));
    block.size = random() % (std::size_t{1} << bits) + 1;
    block.bytes = static_cast<unsigned char *>(heap.malloc(block.size));
    block.pattern = static_cast<unsigned char>(random());
    EXPECT_NE(block.bytes, nullptr);
    std::memset(block.bytes, block.pattern, block.size < 4096 ? block.size : 4096);
    block.bytes[block.size - 1] = block.pattern;
    return block;
}

void check_and_free(Block &block) {
    if (block.bytes == nullptr) {
        return;
    }
    const std::size_t checked = block.size < 4096 ? block.size : 4096;
    for (std::size_t i = 0; i < checked; ++i) {
        ASSERT_EQ(block.bytes[i], block.pattern) << "byte " << i << " of " << block.size;
    }
    ASSERT_EQ(block.bytes[block.size - 1], block.pattern);
    heap.free(block.bytes);
    block.bytes = nullptr;
}

/// Blocks on their way from one thread to another.
class Mailbox {
public:
    Block swap(std::size_t slot, Block block) {
        const std::lock_guard hold(locks_[slot % locks_.size()]);
        std::swap(slots_[slot], block);
        return block;
    }
    static constexpr std::size_t size = 512;

private:
    std::array<std::mutex, 16> locks_;
    std::array<Block, size> slots_;
};

class FlagshipThreads : public testing::TestWithParam<std::size_t> {};

TEST_P(FlagshipThreads, KeepContentsAndAccounts) {
    const std::size_t largest = GetParam();
    const int rounds = cairn::platform::sanitized ? 3 : 8;
    const int steps = cairn::platform::sanitized ? 4000 : 10000;
    Mailbox mailbox;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 6; ++t) {
            threads.emplace_back([&, t] {
                std::mt19937_64 random(static_cast<unsigned>(round) * 100 + t);
                std::vector<Block> own(64);
                for (int i = 0; i < steps; ++i) {
                    Block &block = own[random() % own.size()];
                    check_and_free(block);
                    block = make(random, largest);
                    if (random() % 4 == 0) {
                        block = mailbox.swap(random() % Mailbox::size, block);
                    }
                }
                // Half of the threads leave their blocks to those that come after.
                for (Block &block : own) {
                    if (t % 2 == 0) {
                        check_and_free(block);
                    } else {
                        Block old = mailbox.swap(random() % Mailbox::size, block);
                        check_and_free(old);
                    }
                }
                heap.detach();
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    for (std::size_t slot = 0; slot < Mailbox::size; ++slot) {
        Block last = mailbox.swap(slot, {});
        check_and_free(last);
    }
    heap.detach();

    cairn::Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(now.heaps, 0u);
    // No live block: every superblock is a free run again.
    EXPECT_EQ(now.superblocks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FlagshipThreads, testing::Values(64, 1024, 65536, 1u << 18));

TEST(Flagship, OneThreadFreesForAnother) {
    constexpr int blocks = 20000;
    std::vector<void *> passed(blocks);
    for (int round = 0; round < 5; ++round) {
        std::thread([&] {
            for (void *&p : passed) {
                p = heap.malloc(48);
            }
            heap.detach();
        }).join();
        std::thread([&] {
            for (void *p : passed) {
                heap.free(p);
            }
            heap.detach();
        }).join();
    }
    cairn::Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.superblocks, 0u);
    EXPECT_LE(now.free_dirty, std::size_t{blocks} * 64 * 2);
}

} // namespace
