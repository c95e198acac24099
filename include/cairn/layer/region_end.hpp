// SPDX-License-Identifier: MIT
//
// RegionEnd: the end of the last region of blocks with boundary tags, where the next region may continue it.
//
// Adds:    what is missing behind the end for a block; a block there once the memory has come.
// Needs:   a fence at the end; a heap below whose blocks follow each other (ContiguousHeap).
// Keeps:   a last block that is free by its tag counts for the next one: it is for who freed it to join them.
// Threads: one at a time.
// Cost:    a load or two.
// Source:  Lea's allocator 2.7.0, whose last chunk ("top") grows.
#pragma once

#include <cairn/layer/boundary_tag.hpp>

#include <algorithm>

namespace cairn {

/// Blocks follow each other without a gap where that is possible, free does nothing, clear gives all back.
template <class H>
concept ContiguousHeap = ClearableHeap<H> && requires { requires H::contiguous; };

class RegionEnd {
public:
    bool known() const { return at_ != nullptr; }
    bool is(const void *p) const { return at_ == p && known(); }
    void set(char *end) { at_ = end; }
    void forget() { at_ = nullptr; }

    /// Tag to tag, what has to come behind the end for a block of `wanted`; as much as makes a block at least.
    std::size_t missing(std::size_t wanted) const {
        BoundaryTag *const fence = BoundaryTag::of(at_);
        const std::size_t have = fence->before_in_use() ? 0 : fence->before()->bytes();
        return std::max(wanted - std::min(have, wanted), BoundaryTag::smallest);
    }

    /// The block that `bytes` behind the end have become.
    void *grow(std::size_t bytes) {
        BoundaryTag *const tag = BoundaryTag::of(at_);
        tag->unfence(bytes);
        at_ += bytes;
        BoundaryTag::of(at_)->fence(0);
        return tag->block();
    }

private:
    char *at_ = nullptr;
};

} // namespace cairn
