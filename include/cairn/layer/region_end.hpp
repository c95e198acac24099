// SPDX-License-Identifier: MIT
//
// RegionEnd: the end of the last region of blocks with boundary tags, which the next region may continue.
//
// Adds:    how many bytes a block needs behind the end; a block there after the memory was allocated.
// Needs:   a fence at the end; a heap below whose blocks are adjacent (ContiguousHeap).
// Keeps:   if the tag of the last block says that it is free, its bytes count towards the next block; the layer that
//          freed it joins the two.
// Threads: one at a time.
// Cost:    a load or two.
// Source:  Lea's allocator 2.7.0, whose last chunk ("top") grows.
#pragma once

#include <cairn/layer/boundary_tag.hpp>

#include <algorithm>

namespace cairn {

/// Blocks are adjacent where that is possible, free does nothing, clear gives all memory back.
template <class H>
concept ContiguousHeap = ClearableHeap<H> && requires { requires H::contiguous; };

class RegionEnd {
public:
    bool known() const { return at_ != nullptr; }
    bool is(const void *p) const { return at_ == p && known(); }
    void set(char *end) { at_ = end; }
    void forget() { at_ = nullptr; }

    /// How many bytes have to be added behind the end for a block that takes `wanted` from tag to tag; at least
    /// BoundaryTag::smallest.
    std::size_t missing(std::size_t wanted) const {
        BoundaryTag *const fence = BoundaryTag::of(at_);
        const std::size_t have = fence->before_in_use() ? 0 : fence->before()->bytes();
        return std::max(wanted - std::min(have, wanted), BoundaryTag::smallest);
    }

    /// Makes `bytes` behind the end, which the heap below has allocated, a block in use, with the mark or without, and
    /// returns it.
    void *grow(std::size_t bytes, bool mark) {
        BoundaryTag *const tag = BoundaryTag::of(at_);
        tag->unfence(bytes, mark);
        at_ += bytes;
        BoundaryTag::of(at_)->fence(0);
        return tag->block();
    }

private:
    char *at_ = nullptr;
};

} // namespace cairn
