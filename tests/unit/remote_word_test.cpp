// SPDX-License-Identifier: MIT
//
// RemoteWord: each field comes back as it was put in, whatever the others hold.
#include <cairn/run/segment.hpp>
#include <cairn/superblock/remote_word.hpp>

#include <gtest/gtest.h>

using namespace cairn;

namespace {

constexpr unsigned last_heap = 0xffff;

TEST(RemoteWord, NothingIsEmpty) {
    constexpr RemoteWord word;
    static_assert(word.empty() && word.count() == 0 && !word.queued() && word.owner() == 0);
}

TEST(RemoteWord, FieldsDoNotOverlap) {
    for (const std::uint64_t one : {RemoteWord::head_mask, RemoteWord::count_mask, RemoteWord::queued_bit}) {
        EXPECT_EQ(one & RemoteWord::owner_mask, 0u);
        EXPECT_EQ(one == RemoteWord::head_mask, (one & RemoteWord::head_mask) != 0);
        EXPECT_EQ(one == RemoteWord::count_mask, (one & RemoteWord::count_mask) != 0);
    }
}

TEST(RemoteWord, OwnersComeBack) {
    for (const unsigned heap : {0u, 1u, 255u, 256u, 0x8000u, last_heap}) {
        for (const std::uint64_t rest : {std::uint64_t{0}, RemoteWord::head_mask, RemoteWord::count_mask,
                                         RemoteWord::queued_bit, ~RemoteWord::owner_mask}) {
            EXPECT_EQ((RemoteWord{RemoteWord::owned_by(heap) | rest}.owner()), heap);
        }
    }
}

/// The longest superblock that a kit's parameters may ask for, and the smallest block.
TEST(RemoteWord, EveryOffsetComesBack) {
    constexpr std::size_t span = 8 * slot_size;
    RemoteWord word{RemoteWord::owned_by(last_heap)};
    for (std::uint64_t offset = 0; offset < span; offset += 8) {
        const RemoteWord next = word.pushed(offset);
        ASSERT_EQ(next.head_offset(), offset);
        ASSERT_FALSE(next.empty());
        ASSERT_EQ(next.count(), 1u);
        ASSERT_EQ(next.owner(), last_heap);
        ASSERT_FALSE(next.queued());
    }
}

TEST(RemoteWord, PushesCountAndLeaveTheRest) {
    for (const unsigned heap : {0u, 1u, last_heap}) {
        for (const bool queued : {false, true}) {
            RemoteWord word{RemoteWord::owned_by(heap) | (queued ? RemoteWord::queued_bit : 0)};
            const unsigned capacity = slot_size / 8;
            for (unsigned i = 0; i < capacity; ++i) {
                const std::uint64_t offset = std::uint64_t{(i * 4099) % capacity} * 8;
                word = word.pushed(offset);
                ASSERT_EQ(word.count(), i + 1);
                ASSERT_EQ(word.head_offset(), offset);
                ASSERT_EQ(word.owner(), heap);
                ASSERT_EQ(word.queued(), queued);
            }
        }
    }
}

TEST(RemoteWord, TheCountHoldsAsManyAsASharedLineCanSay) {
    RemoteWord word;
    for (unsigned i = 0; i < UINT16_MAX; ++i) {
        word = word.pushed(0);
    }
    EXPECT_EQ(word.count(), UINT16_MAX);
    EXPECT_FALSE(word.queued());
    EXPECT_EQ(word.owner(), 0u);
}

} // namespace
