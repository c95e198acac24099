// SPDX-License-Identifier: MIT
//
// The audit of an Nbmalloc heap that nobody uses at the moment: every superblock is in one slot, the one that its
// mv_info names, and can be found.
#pragma once

#include <allocators/nbmalloc.hpp>

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace cairn::test {

/// The blocks of a free list, by popping all of them and pushing them back. They are different ones, in the row.
inline void audit_blocks(NbSuperblock &superblock, char *memory, std::uint32_t capacity) {
    const unsigned bit = superblock.class_bit.load();
    const std::uint32_t count = superblock.blocks.count();
    std::vector<std::uint32_t> blocks;
    std::vector<bool> seen(capacity);
    for (auto popped = superblock.blocks.pop(memory, bit); popped.block != sync::IbmFreelist::none;
         popped = superblock.blocks.pop(memory, bit)) {
        ASSERT_LT(popped.block, capacity);
        EXPECT_FALSE(seen[popped.block]) << "block " << popped.block << " is free twice";
        seen[popped.block] = true;
        blocks.push_back(popped.block);
    }
    EXPECT_EQ(blocks.size(), count);
    while (!blocks.empty()) {
        superblock.blocks.push(memory, bit, blocks.back(), capacity);
        blocks.pop_back();
    }
}

template <class Parameters>
struct NbAudit {
    using Places = NbPlaces<Parameters>;
    using Layout = typename Places::Layout;

    std::size_t superblocks = 0, outside = 0, in_global = 0, free_and_outside = 0;

    explicit NbAudit(Nbmalloc<Parameters> &heap) {
        std::map<const char *, int> references;
        Places *all = nullptr;
        heap.small().for_each_superblock([&](Places &places, NbSuperblock &superblock) {
            all = &places;
            ++superblocks;
            char *const memory = Layout::memory(&superblock);
            const NbMove now = NbMove::of(superblock.moves.load());
            EXPECT_FALSE(now.under_way());
            EXPECT_EQ(places.slot(superblock, now.from).load(),
                      (typename Layout::Reference{memory, now.from_version}.bits()));
            references[memory] = Layout::Reference::of_bits(superblock.outside.load()).is_null() ? 0 : 1;
            const auto at = Places::where(now.from);
            const bool is_outside = at.group == Places::no_group;
            outside += is_outside ? 1 : 0;
            in_global += !is_outside && at.heap == 0 ? 1 : 0;
            if (is_outside && superblock.blocks.count() != 0) {
                ++free_and_outside;
                EXPECT_TRUE(superblock.listed.load()) << "a superblock with free blocks is lost";
            }
            audit_blocks(superblock, memory, Layout::capacity(superblock.class_bit.load()));
        });
        if (all == nullptr) {
            return;
        }
        all->for_each_set([&](auto &set, NbLocation) {
            std::size_t found = 0;
            for (std::size_t i = 0; i < set.slots; ++i) {
                const auto reference = Layout::Reference::of_bits(set.slot(i).load());
                if (!reference.is_null()) {
                    ++found;
                    ++references[reference.pointer()];
                }
            }
            typename Places::Set::Found any;
            EXPECT_TRUE(found == 0 || !set.is_marked_empty());
            EXPECT_EQ(set.get_any(any), found != 0);
        });
        EXPECT_EQ(references.size(), superblocks);
        for (const auto &[memory, count] : references) {
            EXPECT_EQ(count, 1) << static_cast<const void *>(memory);
        }
    }
};

/// Small enough for everything to move about, and for every set to be full.
struct TinyNbmallocParameters : NbmallocParameters {
    static constexpr std::size_t superblock = 4_KiB;
    static constexpr std::size_t largest_small = 2_KiB;
    static constexpr std::size_t flat_set = 2;
    static constexpr std::size_t global_flat_set = 3;
    static constexpr unsigned processors = 3;
};

} // namespace cairn::test
