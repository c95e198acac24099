// SPDX-License-Identifier: MIT
//
// The flagship under threads, and its accounts when all blocks are free again.
#include "threads_suite.hpp"

#include <allocators/cairn.hpp>

namespace cairn::concurrent {

namespace {

struct TestLife {
    static bool attached();
    static void grew() noexcept {}
    static void surplus() {}
    static void returned() {}
};
using Heap = Flagship<TestLife>;

/// The end of a thread hands its heap over.
bool TestLife::attached() {
    struct Ending {
        ~Ending() { immortal<Heap>.object.detach(); }
    };
    thread_local const Ending ending;
    static_cast<void>(&ending);
    return true;
}

} // namespace

template <>
void check_empty(Heap &heap) {
    heap.detach();
    heap.trim(0);
    Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(now.heaps, 0u);
    EXPECT_EQ(now.superblocks, 0u); // each is a free run again
}

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Flagship, Threads, testing::Types<Heap>);

TEST(Flagship, KeepsNoMoreThanTheProducersBlocks) {
    constexpr int blocks = 20000;
    Heap &heap = immortal<Heap>.object;
    heap.trim(0);
    std::vector<void *> passed(blocks);
    for (int round = 0; round < 5; ++round) {
        std::thread([&] {
            for (void *&p : passed) {
                p = heap.malloc(48);
            }
        }).join();
        std::thread([&] {
            for (void *p : passed) {
                heap.free(p);
            }
        }).join();
    }
    check_empty(heap);
    Statistics now;
    heap.statistics(now);
    EXPECT_LE(now.free_dirty, std::size_t{blocks} * 64 * 2);
}

} // namespace
} // namespace cairn::concurrent
