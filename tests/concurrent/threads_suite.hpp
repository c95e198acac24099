// SPDX-License-Identifier: MIT
//
// The concurrent suite: threads that allocate, free, pass blocks on and end, with every block's contents checked. Most
// telling under ThreadSanitizer and in a debug build (invariants, lock ranks). A test file says
//
//     INSTANTIATE_TYPED_TEST_SUITE_P(Hoard, Threads, testing::Types<cairn::Hoard<>>);
//
// The heap is one object of the process, constant-initialised and never destroyed, as in a drop-in.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/core/immortal.hpp>
#include <cairn/platform/features.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace cairn::concurrent {

template <class H>
constinit inline Immortal<H> immortal;

/// What a test file has to say of its heap when no block is live: specialised there.
template <class H>
void check_empty(H &) {}

struct Block {
    unsigned char *bytes = nullptr;
    std::size_t size = 0;
    unsigned char pattern = 0;
};

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

template <class H>
class Threads : public testing::Test {
protected:
    static H &heap() { return immortal<H>.object; }
    void TearDown() override { check_empty(heap()); }

    static Block make(std::mt19937_64 &random, std::size_t largest) {
        Block block;
        const unsigned bits = static_cast<unsigned>(random() % (log2_floor(largest) + 1));
        block.size = random() % (std::size_t{1} << bits) + 1;
        block.pattern = static_cast<unsigned char>(random());
        if constexpr (AlignedHeap<H>) {
            const std::size_t wanted = quantum << random() % 6;
            block.bytes = static_cast<unsigned char *>(
                random() % 16 == 0 ? heap().memalign(wanted, block.size) : heap().malloc(block.size));
        } else {
            block.bytes = static_cast<unsigned char *>(heap().malloc(block.size));
        }
        EXPECT_NE(block.bytes, nullptr);
        if constexpr (SizedHeap<H>) {
            EXPECT_GE(heap().getSize(block.bytes), block.size);
        }
        std::memset(block.bytes, block.pattern, checked_part(block));
        block.bytes[block.size - 1] = block.pattern;
        return block;
    }

    static void check_and_free(Block &block) {
        if (block.bytes == nullptr) {
            return;
        }
        for (std::size_t i = 0; i < checked_part(block); ++i) {
            ASSERT_EQ(block.bytes[i], block.pattern) << "byte " << i << " of " << block.size;
        }
        ASSERT_EQ(block.bytes[block.size - 1], block.pattern);
        heap().free(block.bytes);
        block.bytes = nullptr;
    }

    /// Six threads a round, which replace their own blocks, and one in four by another thread's.
    static void exchange(std::size_t largest, int steps = platform::sanitized ? 3000 : 10000) {
        const unsigned rounds = platform::sanitized ? 2 : 5;
        Mailbox mailbox;
        for (unsigned round = 0; round < rounds; ++round) {
            std::vector<std::thread> threads;
            for (unsigned t = 0; t < 6; ++t) {
                threads.emplace_back([&, seed = round * 100 + t] { work(seed, steps, largest, mailbox); });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
        }
        for (std::size_t slot = 0; slot < Mailbox::size; ++slot) {
            Block last = mailbox.swap(slot, {});
            check_and_free(last);
        }
    }

private:
    static std::size_t checked_part(const Block &block) { return block.size < 4096 ? block.size : 4096; }

    static void work(unsigned seed, int steps, std::size_t largest, Mailbox &mailbox) {
        std::mt19937_64 random(seed);
        std::vector<Block> own(64);
        for (int i = 0; i < steps; ++i) {
            Block &block = own[random() % own.size()];
            check_and_free(block);
            block = make(random, largest);
            if (random() % 4 == 0) {
                block = mailbox.swap(random() % Mailbox::size, block);
            }
        }
        for (Block &block : own) { // half of the threads leave their blocks to those that come after
            Block old = seed % 2 == 0 ? block : mailbox.swap(random() % Mailbox::size, block);
            check_and_free(old);
        }
    }
};
TYPED_TEST_SUITE_P(Threads);

TYPED_TEST_P(Threads, KeepTheContentsOfTinyBlocks) {
    this->exchange(64);
}
TYPED_TEST_P(Threads, KeepTheContentsOfSmallBlocks) {
    this->exchange(1024);
}
TYPED_TEST_P(Threads, KeepTheContentsOfAllBlocks) {
    this->exchange(std::size_t{1} << 18,
                   platform::sanitized ? 1500 : 4000); // most of whose time is the system's
}

/// A producer, and a consumer that frees all; then each thread's blocks are freed by the next one.
TYPED_TEST_P(Threads, FreeForOneAnother) {
    constexpr std::size_t blocks = 2000;
    auto &heap = TestFixture::heap();
    std::vector<void *> passed(blocks);
    for (std::size_t round = 0; round < 10; ++round) {
        const std::size_t size = 16 + round * 40;
        std::thread([&] {
            for (void *&p : passed) {
                p = heap.malloc(size);
                std::memset(p, static_cast<int>(round), size);
            }
        }).join();
        std::thread([&] {
            for (void *p : passed) {
                const auto *const bytes = static_cast<unsigned char *>(p);
                ASSERT_TRUE(bytes[0] == round && bytes[size - 1] == round);
                heap.free(p);
            }
        }).join();
    }
}

REGISTER_TYPED_TEST_SUITE_P(Threads, KeepTheContentsOfTinyBlocks, KeepTheContentsOfSmallBlocks,
                            KeepTheContentsOfAllBlocks, FreeForOneAnother);

} // namespace cairn::concurrent
