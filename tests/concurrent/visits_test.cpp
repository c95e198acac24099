// SPDX-License-Identifier: MIT
//
// Visits to heaps whose threads do not come by: while they sleep, while they use what they have, and while they are
// stopped wherever they happen to be. Nobody waits for them, no block is lost or handed out twice.
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include <pthread.h>

using cairn::operator""_KiB;
using cairn::operator""_MiB;

namespace {

struct TestLife {
    static bool attached() { return true; }
    static void grew() noexcept {}
    static void surplus() {}
    static void returned() {}
};
struct Heap : cairn::Flagship<TestLife> {
    /// Whether the calling thread is in a short section, as a visiting thread would see it.
    bool in_section() const {
        const cairn::sync::Presence &presence = this->Routes::threads_.mine()->presence();
        cairn::sync::Presence::Thing at = cairn::sync::Presence::nothing;
        presence.owner_uses(at);
        return at != cairn::sync::Presence::nothing && !presence.owner_is_inside();
    }
};
constinit Heap heap;

struct Block {
    unsigned char *bytes = nullptr;
    std::size_t size = 0;
};

Block make(std::mt19937_64 &random, std::size_t largest) {
    Block block;
    block.size = random() % largest + 1;
    block.bytes = static_cast<unsigned char *>(heap.malloc(block.size));
    EXPECT_NE(block.bytes, nullptr);
    std::memset(block.bytes, static_cast<int>(block.size % 251), block.size);
    return block;
}

void check_and_free(Block &block) {
    if (block.bytes == nullptr) {
        return;
    }
    const auto pattern = static_cast<unsigned char>(block.size % 251);
    for (const std::size_t i : {std::size_t{0}, block.size / 2, block.size - 1}) {
        ASSERT_EQ(block.bytes[i], pattern) << "byte " << i << " of " << block.size;
    }
    heap.free(block.bytes);
    block.bytes = nullptr;
}

void expect_nothing_left() {
    heap.detach();
    heap.trim(0);
    cairn::Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(now.heaps, 0u);
    EXPECT_EQ(now.superblocks, 0u);
}

/// Who grows visits the heaps that hold too much: not its own, and those whose owners are inside another time.
TEST(Visits, AHeapWhoseOwnerIsInsideStaysWanted) {
    std::binary_semaphore ready(0);
    std::binary_semaphore done(0);
    heap.free(heap.malloc(1)); // a heap for this thread
    std::thread holder([&] {
        std::vector<void *> blocks;
        for (int i = 0; i < 30'000; ++i) {
            blocks.push_back(heap.malloc(64));
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) { // a few in each superblock stay
            if (i % 100 != 0) {
                heap.free(blocks[i]);
            }
        }
        ready.release();
        done.acquire();
        for (std::size_t i = 0; i < blocks.size(); i += 100) {
            heap.free(blocks[i]);
        }
        heap.detach();
    });
    ready.acquire();
    auto &levels = heap.levels();
    auto *held = levels.registry().first(2);
    while (held != nullptr && !held->inbox().wanted.load()) {
        held = held->next;
    }
    ASSERT_NE(held, nullptr);
    held->presence().enter();
    EXPECT_FALSE(levels.visit_wanted(nullptr));
    EXPECT_TRUE(held->inbox().wanted.load());
    EXPECT_TRUE(held->inbox().asked.load()) << "to do it itself";
    held->presence().leave();
    EXPECT_FALSE(levels.visit_wanted(held)) << "nobody visits himself";
    EXPECT_TRUE(held->inbox().wanted.load()) << "others still may";
    const std::size_t before = held->holdings().held();
    EXPECT_TRUE(levels.visit_wanted(nullptr));
    EXPECT_FALSE(held->inbox().asked.load()) << "it is done";
    EXPECT_LT(held->holdings().held(), before / 2);
    EXPECT_FALSE(levels.visit_wanted(held)) << "nor is there another";
    done.release();
    holder.join();
    expect_nothing_left();
}

/// Else each of its size classes would go to the global heap for its next block, whenever one of them grows.
TEST(Visits, AHeapThatGrowsKeepsItsBins) {
    std::binary_semaphore ready(0);
    std::binary_semaphore done(0);
    std::thread holder([&] { // a heap that may be visited
        std::vector<void *> blocks;
        for (int i = 0; i < 30'000; ++i) {
            blocks.push_back(heap.malloc(48));
        }
        for (void *const p : blocks) {
            heap.free(p);
        }
        ready.release();
        done.acquire();
        heap.detach();
    });
    ready.acquire();
    for (std::size_t size = 64; size <= 1024; size += 64) { // a superblock without live blocks in each bin
        heap.free(heap.malloc(size));
    }
    cairn::Statistics before;
    heap.statistics(before);
    std::vector<void *> blocks;
    cairn::Statistics after;
    do {
        for (int i = 0; i < 1000; ++i) {
            blocks.push_back(heap.malloc(8_KiB));
        }
        heap.statistics(after);
    } while (after.superblocks_fresh < before.superblocks_fresh + 200);
    heap.statistics(before);
    for (std::size_t size = 64; size <= 1024; size += 64) {
        heap.free(heap.malloc(size));
    }
    heap.statistics(after);
    EXPECT_EQ(after.superblocks_from_global, before.superblocks_from_global);
    EXPECT_EQ(after.superblocks_fresh, before.superblocks_fresh);
    for (void *const p : blocks) {
        heap.free(p);
    }
    done.release();
    holder.join();
    expect_nothing_left();
}

/// A ring: each thread allocates, the next one frees, and while one works the others sleep.
void sleepers_keep_little() {
    constexpr unsigned threads = 4;
    constexpr std::size_t bytes = cairn::platform::sanitized ? 2_MiB : 8_MiB;
    constexpr std::size_t size = 200;
    std::array<std::vector<void *>, threads> blocks;
    std::array<std::binary_semaphore, threads> turns{std::binary_semaphore(1), std::binary_semaphore(0),
                                                     std::binary_semaphore(0), std::binary_semaphore(0)};
    std::uint64_t most = 0;
    std::vector<std::thread> ring;
    for (unsigned t = 0; t < threads; ++t) {
        ring.emplace_back([&, t] {
            for (int round = 0; round < 5; ++round) {
                turns[t].acquire();
                for (void *const p : blocks[(t + threads - 1) % threads]) {
                    heap.free(p);
                }
                blocks[(t + threads - 1) % threads].clear();
                for (std::size_t i = 0; i < bytes / size; ++i) {
                    blocks[t].push_back(heap.malloc(size));
                }
                cairn::Statistics now;
                heap.statistics(now);
                most = std::max(most, now.small_resident);
                turns[(t + 1) % threads].release();
            }
            turns[t].acquire();
            for (void *const p : blocks[t]) {
                heap.free(p);
            }
            heap.detach();
            turns[(t + 1) % threads].release();
        });
    }
    for (std::thread &thread : ring) {
        thread.join();
    }
    // The size class is 208 bytes; each heap and the global one keep their slack, and some superblocks are on their
    // way.
    EXPECT_LE(most, bytes * 208 / size + (threads + 1) * 2 * 128_KiB + 1_MiB);
    expect_nothing_left();
}
TEST(Visits, SleepersKeepLittle) {
    sleepers_keep_little();
}

/// What a thread keeps in its bins when it has done its work goes when others need memory, though it never comes by.
TEST(Visits, ASleeperRetiresWhileMemoryGrows) {
    heap.trim(0); // so that more memory comes from the operating system
    std::binary_semaphore done(0);
    std::binary_semaphore wake(0);
    std::thread sleeper([&] {
        std::vector<void *> blocks;
        for (std::size_t size = 16; size <= 8192; size += 16) {
            blocks.push_back(heap.malloc(size));
        }
        for (void *const p : blocks) {
            heap.free(p);
        }
        done.release();
        wake.acquire();
        heap.detach();
    });
    done.acquire();
    const auto kept = [] {
        cairn::Statistics now;
        heap.statistics(now);
        return now.small_resident - now.small_live;
    };
    const std::uint64_t before = kept();
    EXPECT_GT(before, 512_KiB);
    std::vector<void *> blocks;
    const auto grow = [&] {
        for (std::size_t bytes = 0; bytes < 4_MiB; bytes += 64) {
            blocks.push_back(heap.malloc(64));
        }
    };
    grow();
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    grow();
    EXPECT_LE(kept(), 128_KiB + 64_KiB) << "of " << before;
    wake.release();
    sleeper.join();
    for (void *const p : blocks) {
        heap.free(p);
    }
    expect_nothing_left();
}

/// Its mark needs a place of its own.
TEST(Visits, AThreadThatOnlyFreesHasAHeap) {
    void *const p = heap.malloc(64);
    std::thread([p] {
        heap.free(p);
        cairn::Statistics now;
        heap.statistics(now);
        EXPECT_EQ(now.heaps, 2u);
        heap.detach();
        heap.statistics(now);
        EXPECT_EQ(now.heaps, 1u);
    }).join();
    expect_nothing_left();
}

/// Threads allocate, free and pass on, while another one has all heaps retire again and again.
void workers_are_visited_all_the_time() {
    constexpr unsigned workers = 3;
    constexpr int steps = cairn::platform::sanitized ? 20000 : 200000;
    std::array<std::atomic<unsigned char *>, 256> passed{};
    std::atomic<unsigned> at_work{workers};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < workers; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(t);
            std::vector<Block> own(200);
            for (int i = 0; i < steps; ++i) {
                Block &block = own[random() % own.size()];
                check_and_free(block);
                block = make(random, random() % 16 == 0 ? 20000 : 300);
                if (random() % 4 == 0) {
                    heap.free(passed[random() % passed.size()].exchange(block.bytes));
                    block.bytes = nullptr;
                }
            }
            for (Block &block : own) {
                check_and_free(block);
            }
            heap.detach();
            --at_work;
        });
    }
    while (at_work != 0) {
        heap.levels().retire_heaps();
        std::this_thread::yield();
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (auto &place : passed) {
        heap.free(place.load());
    }
    expect_nothing_left();
}
TEST(Visits, WorkersAreVisitedAllTheTime) {
    workers_are_visited_all_the_time();
}

// A signal parks a thread wherever it is, in the midst of a fast path as well, but not in slow paths, which may hold
// locks of what all threads share. Nothing in the handler allocates.
thread_local std::atomic<bool> in_allocator{false};
std::binary_semaphore go_on(0);
std::counting_semaphore<> parked(0);

std::atomic<bool> stands_still{false};

void park(int) {
    const int before = errno;
    stands_still = !in_allocator || heap.in_section();
    parked.release();
    if (stands_still) {
        go_on.acquire();
    }
    errno = before;
}

void nobody_waits_for_a_stopped_thread() {
    if (cairn::platform::sanitized) {
        GTEST_SKIP() << "a sanitizer puts a signal off until it suits it";
    }
    struct sigaction action{};
    action.sa_handler = park;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    constexpr std::size_t shared_blocks = 20000;
    for (unsigned round = 0; round < 100; ++round) {
        std::vector<void *> blocks(shared_blocks);
        std::binary_semaphore filled(0);
        std::atomic<bool> over{false};
        std::thread owner([&] {
            for (void *&p : blocks) {
                p = heap.malloc(64);
            }
            filled.release();
            std::mt19937_64 random(round);
            std::vector<Block> own(50);
            while (!over) {
                Block &block = own[random() % own.size()];
                in_allocator = true;
                check_and_free(block);
                block = make(random, 2000);
                in_allocator = false;
            }
            for (Block &block : own) {
                check_and_free(block);
            }
            heap.detach();
        });
        filled.acquire();
        do {
            std::this_thread::sleep_for(
                std::chrono::microseconds(10 + round % 50)); // it is to get on in between
            ASSERT_EQ(pthread_kill(owner.native_handle(), SIGUSR1), 0);
            parked.acquire();
        } while (!stands_still);
        // It stands still. All that it allocated is freed, its heap visited, other threads come and go.
        for (void *const p : blocks) {
            heap.free(p);
        }
        heap.levels().retire_heaps();
        std::thread([] {
            std::mt19937_64 random(1);
            for (int i = 0; i < 200; ++i) {
                Block block = make(random, 2000);
                check_and_free(block);
            }
            heap.detach();
        }).join();
        over = true;
        go_on.release();
        owner.join();
    }
    std::signal(SIGUSR1, SIG_DFL);
    expect_nothing_left();
}
TEST(Visits, NobodyWaitsForAStoppedThread) {
    nobody_waits_for_a_stopped_thread();
}

/// The same in a process without heavy fences: last, since it stays so.
class VisitsWithoutFence : public testing::Test {
protected:
    static void SetUpTestSuite() { cairn::platform::heavy_fence_missing_ = true; }
};
TEST_F(VisitsWithoutFence, SleepersKeepLittle) {
    sleepers_keep_little();
}
TEST_F(VisitsWithoutFence, WorkersAreVisitedAllTheTime) {
    workers_are_visited_all_the_time();
}
TEST_F(VisitsWithoutFence, NobodyWaitsForAStoppedThread) {
    nobody_waits_for_a_stopped_thread();
}

} // namespace
