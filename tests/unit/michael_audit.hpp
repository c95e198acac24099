// SPDX-License-Identifier: MIT
//
// The audit of a MichaelSmallHeap that nobody uses at the moment: every superblock is where its state says, and nowhere
// else; its list has each free block once, as many as anchor and credits say.
#pragma once

#include <allocators/michael.hpp>

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace cairn::test {

template <class Small>
struct MichaelAudit {
    using Places = typename Small::Places;
    using Layout = typename Small::Layout;

    std::size_t superblocks = 0, active = 0, in_slots = 0, queued = 0, full = 0, retired = 0;
    std::size_t empty_and_not_retired = 0;
    std::uint64_t live = 0; ///< blocks

    explicit MichaelAudit(Small &heap) {
        heap.places().for_each(
            [&](unsigned, unsigned c, typename Layout::Reference word, MichaelSuperblock *slot) {
                if (!word.is_null()) {
                    enter(*Layout::descriptor(word.pointer()), c).credits =
                        static_cast<std::uint32_t>(word.tag()) + 1;
                    ++active;
                }
                if (slot != nullptr) {
                    enter(*slot, c);
                    ++in_slots;
                }
            },
            [&](unsigned c, MichaelSuperblock &superblock) {
                enter(superblock, c);
                ++queued;
            },
            [&](MichaelSuperblock &superblock) {
                enter(superblock, Places::class_of(superblock)).is_retired = true;
                ++retired;
            });
        heap.for_each_superblock([&](MichaelSuperblock &superblock) {
            ++superblocks;
            look_at(superblock);
        });
        EXPECT_EQ(superblocks, active + in_slots + queued + full + retired);
    }

private:
    struct Found {
        unsigned times = 0;
        std::uint32_t credits = 0;
        bool is_retired = false;
    };

    Found &enter(MichaelSuperblock &superblock, unsigned size_class) {
        EXPECT_EQ(Places::class_of(superblock), size_class);
        Found &found = found_[&superblock];
        ++found.times;
        return found;
    }

    void look_at(MichaelSuperblock &superblock) {
        const Found found = found_[&superblock];
        const MichaelAnchor now = superblock.look();
        const bool is_full = now.state == MichaelState::full;
        full += is_full ? 1 : 0;
        EXPECT_EQ(found.times, is_full ? 0u : 1u) << "a superblock is lost, or in two places";
        EXPECT_EQ(found.credits != 0, now.state == MichaelState::active);
        const unsigned bit = superblock.class_bit.load();
        const std::uint32_t capacity = Layout::capacity(bit);
        std::uint32_t free = now.count + found.credits;
        switch (now.state) {
        case MichaelState::active:
            break;
        case MichaelState::full:
            EXPECT_EQ(now.count, 0u);
            break;
        case MichaelState::partial:
            EXPECT_GT(now.count, 0u);
            EXPECT_LT(now.count, capacity);
            break;
        case MichaelState::empty:
            EXPECT_EQ(now.count, capacity - 1);
            free += 1;
            empty_and_not_retired += found.is_retired ? 0 : 1;
            break;
        }
        EXPECT_TRUE(!found.is_retired || now.state == MichaelState::empty);
        ASSERT_LE(free, capacity);
        live += capacity - free;

        const char *const memory = Layout::memory(&superblock);
        std::vector<bool> seen(capacity);
        std::uint32_t block = now.first;
        for (std::uint32_t i = 0; i < free; ++i) {
            ASSERT_LT(block, capacity);
            EXPECT_FALSE(seen[block]) << "block " << block << " is free twice";
            seen[block] = true;
            block = sync::BlockLink::next(memory + (std::size_t{block} << bit), block);
        }
    }

    std::map<const MichaelSuperblock *, Found> found_;
};

/// Small enough for everything to move about.
struct TinyMichaelParameters : MichaelParameters {
    static constexpr std::size_t superblock = 4_KiB;
    static constexpr std::size_t largest_small = 2_KiB;
    static constexpr unsigned most_credits = 3;
    static constexpr unsigned processors = 3;
};

} // namespace cairn::test
