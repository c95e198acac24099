// SPDX-License-Identifier: MIT
//
// The reference model: a map of the blocks that a heap should have live, each filled with a pattern of its
// own. A block that overlaps another, is misaligned, too small, or does not keep its contents is a failed
// test.
#pragma once

#include <cairn/core/concepts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

namespace cairn::conformance {

template <Heap H>
class Model {
public:
    explicit Model(H &heap) : heap_(heap) {}

    /// Takes in a block that the heap has just handed out, and fills it.
    void admit(void *p, std::size_t size, std::size_t alignment) {
        ASSERT_NE(p, nullptr);
        const auto start = address_of(p);
        EXPECT_TRUE(is_aligned(start, alignment)) << p << " of " << size << " bytes, wanted " << alignment;
        if (size != 0) {
            const auto above = blocks_.upper_bound(start);
            if (above != blocks_.end()) {
                ASSERT_LE(start + size, above->first)
                    << "a block of " << size << " bytes overlaps a live one";
            }
            if (above != blocks_.begin()) {
                const auto below = std::prev(above);
                ASSERT_LE(below->first + below->second.size, start)
                    << "a live block overlaps one of " << size;
            }
            if constexpr (SizedHeap<H>) {
                EXPECT_GE(heap_.getSize(p), size);
            }
            if constexpr (OwningHeap<H>) {
                EXPECT_TRUE(heap_.owns(p));
            }
            ASSERT_TRUE(blocks_.emplace(start, Block{size, ++seed_}).second) << p << " is live already";
            live_bytes_ += size;
            fill(start, size, seed_);
        } else {
            empty_.push_back(p);
        }
    }

    void check(void *p) const {
        const auto &block = blocks_.at(address_of(p));
        EXPECT_EQ(first_damage(address_of(p), block.size, block.seed), block.size)
            << "offset of the first damaged byte of a block of " << block.size;
    }

    void check_all() const {
        for (const auto &[start, block] : blocks_) {
            check(reinterpret_cast<void *>(start));
        }
    }

    void free_one(void *p) {
        check(p);
        forget(address_of(p));
        heap_.free(p);
    }

    /// The heap has made `to` of `size` bytes out of the block at `from`: the common part of the contents
    /// must have come along.
    void admit_moved(std::uintptr_t from, void *to, std::size_t size, std::size_t alignment) {
        const Block old = forget(from);
        const std::size_t common = std::min(old.size, size);
        EXPECT_EQ(first_damage(address_of(to), common, old.seed), common) << "reallocate lost contents";
        admit(to, size, alignment);
    }

    void free_all() {
        while (!blocks_.empty()) {
            free_one(reinterpret_cast<void *>(blocks_.begin()->first));
        }
        for (void *p : empty_) {
            heap_.free(p);
        }
        empty_.clear();
    }

    void forget_all() {
        check_all();
        blocks_.clear();
        empty_.clear();
        live_bytes_ = 0;
    }

    template <class Random>
    void *any(Random &random) const {
        return reinterpret_cast<void *>(
            std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(random() % blocks_.size()))->first);
    }

    std::size_t size_of(void *p) const { return blocks_.at(address_of(p)).size; }
    std::size_t size() const { return blocks_.size(); }
    std::size_t live_bytes() const { return live_bytes_; }

    /// The sizes of blocks whose every byte is filled and checked, as admit_moved needs it.
    static constexpr std::size_t filled_whole = 16_KiB;

private:
    struct Block {
        std::size_t size;
        std::uint64_t seed;
    };

    /// Blocks of up to `edge_` bytes at each end are filled, and a byte of each page between: enough to
    /// notice a neighbour, and a gigabyte stays unread.
    static constexpr std::size_t edge_ = filled_whole / 2;
    static constexpr std::size_t stride_ = 64_KiB;

    Block forget(std::uintptr_t start) {
        const auto found = blocks_.find(start);
        const Block block = found->second;
        live_bytes_ -= block.size;
        blocks_.erase(found);
        return block;
    }

    template <class F>
    static void for_each_watched(std::size_t size, F f) {
        for (std::size_t i = 0; i < size; i += i < edge_ || i + edge_ >= size ? 1 : step(i, size)) {
            f(i);
        }
    }
    static std::size_t step(std::size_t i, std::size_t size) { return std::min(stride_, size - edge_ - i); }

    static unsigned char pattern(std::size_t i, std::uint64_t seed) {
        return static_cast<unsigned char>((i * 131 + seed * 167) >> 3);
    }
    static void fill(std::uintptr_t start, std::size_t size, std::uint64_t seed) {
        auto *const bytes = reinterpret_cast<unsigned char *>(start);
        for_each_watched(size, [&](std::size_t i) { bytes[i] = pattern(i, seed); });
    }
    static std::size_t first_damage(std::uintptr_t start, std::size_t size, std::uint64_t seed) {
        const auto *const bytes = reinterpret_cast<const unsigned char *>(start);
        std::size_t damage = size;
        for_each_watched(size, [&](std::size_t i) {
            if (damage == size && bytes[i] != pattern(i, seed)) {
                damage = i;
            }
        });
        return damage;
    }

    H &heap_;
    std::map<std::uintptr_t, Block> blocks_;
    std::vector<void *> empty_;
    std::size_t live_bytes_ = 0;
    std::uint64_t seed_ = 0;
};

} // namespace cairn::conformance
