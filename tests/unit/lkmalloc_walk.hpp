// SPDX-License-Identifier: MIT
//
// A walk over all boundary tags of an LKmalloc in which no thread is: what is in it, and whether it is whole.
#pragma once

#include <allocators/lkmalloc.hpp>

#include <gtest/gtest.h>

#include <map>

namespace cairn::test {

struct Walk {
    std::size_t stripes = 0;
    std::size_t busy_blocks = 0;
    std::size_t free_blocks = 0;
    std::size_t largest_free = 0;
};

template <class P>
Walk walk(LkmallocHeap<P> &heap) {
    using lkmalloc::State;
    using Subheap = lkmalloc::Subheap<P>;
    using Sizes = typename lkmalloc::FreeLists<P>::Sizes;
    Walk seen;
    std::map<const char *, std::size_t> listed;
    heap.for_each_free([&](const char *start, std::size_t size) {
        EXPECT_TRUE(listed.emplace(start, size).second) << "listed twice";
        EXPECT_LT(Sizes::of(size), Sizes::count);
    });
    heap.for_each_stripe([&](const char *stripe) {
        ++seen.stripes;
        const char *const end = stripe + P::stripe;
        const char *block = stripe + Subheap::first_block;
        EXPECT_EQ(lkmalloc::footer_before(block).size(), 0u) << "the fence before the first block";
        EXPECT_EQ(lkmalloc::header_of(end).size(), 0u) << "the fence behind the last block";
        bool free_before = false;
        while (block != end) {
            const lkmalloc::Tag tag = lkmalloc::header_of(block);
            ASSERT_GE(tag.size(), Subheap::smallest);
            ASSERT_TRUE(is_aligned(tag.size(), P::alignment));
            ASSERT_LE(tag.size(), static_cast<std::size_t>(end - block));
            ASSERT_EQ(lkmalloc::footer_before(block + tag.size()).bits(), tag.bits()) << "header and footer";
            if (tag.state() == State::free) {
                EXPECT_FALSE(free_before) << "two free neighbours";
                ++seen.free_blocks;
                seen.largest_free = std::max(seen.largest_free, tag.size());
                const auto found = listed.find(block);
                ASSERT_NE(found, listed.end()) << "free and on no list";
                EXPECT_EQ(found->second, tag.size());
                listed.erase(found);
            } else {
                EXPECT_EQ(tag.state(), State::busy);
                ++seen.busy_blocks;
            }
            free_before = tag.state() == State::free;
            block += tag.size();
        }
    });
    EXPECT_TRUE(listed.empty()) << "on a list and not free, or in no stripe";
    return seen;
}

/// Nothing is out: each stripe is one free block.
template <class P>
void expect_all_free(LkmallocHeap<P> &heap) {
    const Walk seen = walk(heap);
    EXPECT_EQ(seen.busy_blocks, 0u);
    EXPECT_EQ(seen.free_blocks, seen.stripes);
    EXPECT_LE(seen.stripes, P::subheaps * P::kept_stripes);
    EXPECT_EQ(seen.largest_free, seen.stripes == 0 ? 0 : lkmalloc::Subheap<P>::largest);
    Statistics now;
    heap.statistics(now);
    EXPECT_EQ(now.live(), 0u);
    EXPECT_EQ(now.mapped, seen.stripes * P::stripe);
}

} // namespace cairn::test
