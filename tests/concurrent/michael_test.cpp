// SPDX-License-Identifier: MIT
//
// Michael's allocator under threads, and under threads that stop where they are; its queues, whose nodes go from one to
// the other.
#include "../unit/michael_audit.hpp"
#include "stopped_threads.hpp"

namespace cairn::concurrent {

template <class Parameters>
void audit_empty(Michael<Parameters> &heap) {
    const test::MichaelAudit<MichaelSmallHeap<Parameters>> audit(heap.small());
    EXPECT_EQ(audit.live, 0u);
    EXPECT_EQ(audit.full, 0u);
    Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
}

template <>
void check_empty(Michael<> &heap) {
    audit_empty(heap);
}
template <>
void check_empty(Michael<test::TinyMichaelParameters> &heap) {
    audit_empty(heap);
}

using Heaps = testing::Types<Michael<>, Michael<test::TinyMichaelParameters>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Michael, Threads, Heaps);

namespace {

template <class Parameters>
void stop_and_audit(unsigned rounds) {
    using H = Michael<Parameters>;
    others_go_on<H, Parameters::largest_small>(platform::sanitized ? rounds / 8 : rounds);
    audit_empty(immortal<H>.object);
}

TEST(MichaelStopped, ThreadsBlockNobody) {
    stop_and_audit<MichaelParameters>(200);
}

TEST(MichaelStopped, ThreadsOfATinyHeapBlockNobody) {
    stop_and_audit<test::TinyMichaelParameters>(200);
}

/// Superblocks of two and four blocks that are full, partly filled and empty all the time, in two heaps and two classes
/// that have each other's.
struct TwoHeaps : test::TinyMichaelParameters {
    static constexpr unsigned most_credits = 1;
    static constexpr unsigned processors = 2;
};

TEST(MichaelMoves, LoseNoSuperblockAndNoBlock) {
    auto &heap = immortal<Michael<TwoHeaps>>.object;
    Mailbox mailbox;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::minstd_rand random(t);
            for (int i = 0; i < (platform::sanitized ? 20'000 : 200'000); ++i) {
                Block block{nullptr, random() % 2 == 0 ? 1_KiB : 2_KiB, static_cast<unsigned char>(random())};
                block.bytes = static_cast<unsigned char *>(heap.malloc(block.size));
                ASSERT_NE(block.bytes, nullptr);
                block.bytes[0] = block.bytes[block.size - 1] = block.pattern;
                block = mailbox.swap(random() % 16, block);
                if (block.bytes != nullptr) {
                    ASSERT_TRUE(block.bytes[0] == block.pattern &&
                                block.bytes[block.size - 1] == block.pattern);
                    heap.free(block.bytes);
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (std::size_t slot = 0; slot < 16; ++slot) {
        if (unsigned char *const bytes = mailbox.swap(slot, {}).bytes) {
            heap.free(bytes);
        }
    }
    audit_empty(heap);
    const test::MichaelAudit<MichaelSmallHeap<TwoHeaps>> audit(heap.small());
    EXPECT_LE(audit.superblocks, 200u) << "of 20 live blocks; empty ones are used again";
}

} // namespace
} // namespace cairn::concurrent
