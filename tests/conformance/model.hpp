// SPDX-License-Identifier: MIT
//
// The reference model: a map of the blocks that a heap should have live, each filled with a pattern of its
// own. A block that overlaps another, is misaligned, too small, or does not keep its contents is a failed
// test.
#pragma once

#include "any_heap.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace cairn::conformance {

using Random = std::mt19937_64;

class Model {
public:
    explicit Model(AnyHeap heap) : heap_(heap) {}

    /// Takes in a block that the heap has just handed out, and fills it.
    void admit(void *p, std::size_t size, std::size_t alignment);

    void check(void *p) const;
    void check_all() const;

    void free_one(void *p);

    /// The heap has made `to` of `size` bytes out of the block at `from`: the common part of the contents
    /// must have come along.
    void admit_moved(std::uintptr_t from, void *to, std::size_t size, std::size_t alignment);

    void free_all();
    void forget_all();

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

    Block forget(std::uintptr_t start);

    AnyHeap heap_;
    std::map<std::uintptr_t, Block> blocks_;
    std::vector<void *> empty_;
    std::size_t live_bytes_ = 0;
    std::uint64_t seed_ = 0;
};

} // namespace cairn::conformance
