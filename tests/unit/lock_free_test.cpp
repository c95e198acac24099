// SPDX-License-Identifier: MIT
//
// What sync/ and platform/ have for lock-free structures: the double word, tagged pointers, the stack, the queue, the
// free list.
#include <cairn/platform/double_word.hpp>
#include <cairn/sync/ibm_freelist.hpp>
#include <cairn/sync/tagged_queue.hpp>
#include <cairn/sync/tagged_stack.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace cairn {
namespace {

template <class F>
void in_threads(unsigned count, F f) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back(f, i);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

constexpr unsigned steps = platform::sanitized ? 5000 : 50000;

TEST(DoubleWord, ChangesAsOne) {
    platform::AtomicDoubleWord word;
    in_threads(3, [&](unsigned) {
        for (unsigned i = 0; i < steps; ++i) {
            platform::DoubleWord seen = word.load();
            do {
                ASSERT_EQ(seen.high, seen.low * 3) << "two halves of two values";
            } while (!word.compare_exchange(seen, {seen.low + 1, (seen.low + 1) * 3}));
        }
    });
    EXPECT_EQ(word.load(), (platform::DoubleWord{3 * steps, 9 * steps}));
    EXPECT_EQ(word.low(), 3 * steps);
    EXPECT_EQ(word.high(), 9 * steps);
}

TEST(DoubleWord, DiffersInEitherHalf) {
    platform::AtomicDoubleWord word;
    word.set_alone({1, 2});
    for (const platform::DoubleWord wrong : {platform::DoubleWord{1, 3}, {3, 2}, {2, 1}, {0, 0}}) {
        platform::DoubleWord expected = wrong;
        EXPECT_FALSE(word.compare_exchange(expected, {7, 7}));
        EXPECT_EQ(expected, (platform::DoubleWord{1, 2}));
    }
}

TEST(TaggedPointer, KeepsBothParts) {
    using Tagged = sync::TaggedPointer<char, 64_KiB>;
    static_assert(Tagged::tag_bits == 32);
    static_assert(sync::TaggedPointer<char, 64>::tag_bits == 22);
    for (const std::uintptr_t address : {std::uintptr_t{0x10000}, std::uintptr_t{0x7fffffff0000}}) {
        auto *const p = reinterpret_cast<char *>(address);
        const Tagged tagged{p, 0xfffffffe};
        EXPECT_EQ(tagged.pointer(), p);
        EXPECT_EQ(tagged.tag(), 0xfffffffe);
        EXPECT_FALSE(tagged.is_null());
        const Tagged next = tagged.next(nullptr);
        EXPECT_TRUE(next.is_null());
        EXPECT_EQ(next.tag(), 0xffffffff);
        EXPECT_EQ(next.next(p).tag(), 0u) << "it wraps, and leaves the pointer alone";
        EXPECT_EQ(next.next(p).pointer(), p);
        EXPECT_EQ(Tagged::of_bits(tagged.bits()), tagged);
    }
}

struct alignas(64) Node {
    std::atomic<Node *> next{nullptr};
    std::atomic<int> holders{0};
};
std::atomic<Node *> &link_of(Node *node) {
    return node->next;
}

TEST(TaggedStack, GivesEachToOne) {
    sync::TaggedStack<Node, 64, link_of> stack;
    EXPECT_EQ(stack.pop(), nullptr);
    std::array<Node, 8> nodes;
    for (Node &node : nodes) {
        stack.push(&node);
    }
    EXPECT_EQ(stack.pop(), &nodes.back()) << "last in, first out";
    stack.push(&nodes.back());
    in_threads(4, [&](unsigned) {
        for (unsigned i = 0; i < steps; ++i) {
            Node *const one = stack.pop();
            Node *const other = stack.pop();
            for (Node *const node : {one, other}) {
                if (node != nullptr) {
                    ASSERT_EQ(node->holders.fetch_add(1), 0);
                    node->holders.fetch_sub(1);
                }
            }
            for (Node *const node : {one, other}) { // in another order than that of the pops
                if (node != nullptr) {
                    stack.push(node);
                }
            }
        }
    });
    std::size_t count = 0;
    while (stack.pop() != nullptr) {
        ++count;
    }
    EXPECT_EQ(count, nodes.size());
}

/// Values 0 to 7, two queues, and a node for each of these.
struct Queues {
    static constexpr unsigned number_bits = 32;
    static constexpr std::uint64_t values = 8;
    sync::QueueNode &at(std::uint64_t number) { return nodes.at(number - 1); }
    void push(unsigned queue, std::uint64_t value) { queues.at(queue).push(*this, node_of.at(value), value); }
    /// False: there was none.
    bool pop(unsigned queue, std::uint64_t &value) {
        sync::TaggedQueue<Queues>::Popped popped{};
        const bool found = queues.at(queue).pop(*this, popped);
        if (found) {
            value = popped.value;
            node_of.at(value) = popped.node;
        }
        return found;
    }

    std::array<sync::QueueNode, 10> nodes;
    std::array<std::uint64_t, values> node_of{1, 2, 3, 4, 5, 6, 7, 8};
    std::array<sync::TaggedQueue<Queues>, 2> queues{sync::TaggedQueue<Queues>(9),
                                                    sync::TaggedQueue<Queues>(10)};
};

TEST(TaggedQueue, IsFirstInFirstOut) {
    Queues all;
    std::uint64_t value = 0;
    EXPECT_FALSE(all.pop(0, value));
    for (unsigned round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < Queues::values; ++i) {
            all.push(0, i);
        }
        for (std::uint64_t i = 0; i < Queues::values; ++i) {
            ASSERT_TRUE(all.pop(0, value));
            EXPECT_EQ(value, i);
            all.push(1, value); // with the node of another one
        }
        EXPECT_FALSE(all.pop(0, value));
        std::uint64_t expected = 0;
        all.queues[1].for_each(all, [&](std::uint64_t v) { EXPECT_EQ(v, expected++); });
        EXPECT_EQ(expected, Queues::values);
        while (all.pop(1, value)) {
        }
    }
}

/// Values and nodes go from queue to queue.
TEST(TaggedQueue, GivesEachToOne) {
    Queues all;
    for (std::uint64_t i = 0; i < Queues::values; ++i) {
        all.push(i % 2, i);
    }
    std::array<std::atomic<int>, Queues::values> holders{};
    in_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < steps; ++i) {
            std::uint64_t value = 0;
            if (all.pop((i + t) % 2, value)) {
                ASSERT_EQ(holders[value].fetch_add(1), 0);
                holders[value].fetch_sub(1);
                all.push(i / 2 % 2, value);
            }
        }
    });
    std::uint64_t found = 0;
    for (unsigned queue = 0; queue < 2; ++queue) {
        for (std::uint64_t value = 0; all.pop(queue, value);) {
            EXPECT_EQ(holders[value].fetch_add(1), 0);
            ++found;
        }
    }
    EXPECT_EQ(found, Queues::values);
}

class IbmFreelistTest : public testing::Test {
protected:
    static constexpr unsigned shift = 3;
    static constexpr std::uint32_t capacity = 100;

    std::unique_ptr<std::uint64_t[]> words_ = std::make_unique<std::uint64_t[]>(capacity);
    char *row_ = reinterpret_cast<char *>(words_.get());
    sync::IbmFreelist list_;
};

TEST_F(IbmFreelistTest, ZeroedBlocksAreLinkedInOrder) {
    list_.set_alone(1, capacity - 1);
    for (std::uint32_t i = 1; i < capacity; ++i) {
        const auto popped = list_.pop(row_, shift);
        ASSERT_EQ(popped.block, i);
        ASSERT_EQ(popped.left, capacity - 1 - i);
    }
    EXPECT_EQ(list_.pop(row_, shift).block, sync::IbmFreelist::none);
    EXPECT_EQ(list_.push(row_, shift, 70, capacity), 1u);
    EXPECT_EQ(list_.push(row_, shift, 0, capacity), 2u);
    EXPECT_EQ(list_.count(), 2u);
    EXPECT_EQ(list_.pop(row_, shift).block, 0u);
    EXPECT_EQ(list_.pop(row_, shift).block, 70u);
    EXPECT_EQ(list_.pop(row_, shift).block, sync::IbmFreelist::none);
}

TEST_F(IbmFreelistTest, GivesEachBlockToOne) {
    list_.set_alone(0, capacity);
    in_threads(4, [&](unsigned id) {
        for (unsigned i = 0; i < steps; ++i) {
            const std::uint32_t one = list_.pop(row_, shift).block;
            const std::uint32_t other = list_.pop(row_, shift).block;
            for (const std::uint32_t block : {one, other}) {
                if (block != sync::IbmFreelist::none) {
                    words_[block] = id; // the program's: whoever is still in pop may read it
                }
            }
            for (const std::uint32_t block : {one, other}) {
                if (block != sync::IbmFreelist::none) {
                    ASSERT_EQ(words_[block], id);
                    list_.push(row_, shift, block, capacity);
                }
            }
        }
    });
    std::vector<bool> seen(capacity);
    for (std::uint32_t i = 0; i < capacity; ++i) {
        const std::uint32_t block = list_.pop(row_, shift).block;
        ASSERT_LT(block, capacity);
        EXPECT_FALSE(seen[block]);
        seen[block] = true;
    }
    EXPECT_EQ(list_.pop(row_, shift).block, sync::IbmFreelist::none);
}

TEST_F(IbmFreelistTest, MoreThanThereAreIsCaught) {
    if constexpr (platform::checked) {
        list_.set_alone(0, capacity);
        EXPECT_DEATH(list_.push(row_, shift, 5, capacity), "more blocks were freed than there are");
    }
}

} // namespace
} // namespace cairn
