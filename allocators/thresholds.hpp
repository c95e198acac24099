// SPDX-License-Identifier: MIT
//
// Private heaps with thresholds (DYNIX's kernel allocator of McKenney and Slingwine, Vee and Hsu): each thread has two
// lists a size class, of at most `target` blocks each. It uses one; when that is full it becomes the reserve, and the
// former reserve, a whole batch, goes to the shared list. When both are empty a batch comes from there.
//
// Source: Hoard, section 6.1 and Table 7: fast and scalable, O(1) blowup since no heap holds more than 2 * target free
// blocks of a class; synchronizes once for `target` blocks allocated or freed; induces false sharing passively, since
// below the threshold a thread hands out again whatever it has freed.
#pragma once

#include <cairn/family/chunk_heap.hpp>
#include <cairn/family/threshold_lists.hpp>
#include <cairn/sizeclass/geometric.hpp>

namespace cairn {

struct ThresholdParameters {
    using Classes = GeometricSizeClasses<16_KiB, 1_KiB>;
    static constexpr std::size_t batch_bytes = 4_KiB;
    static constexpr std::size_t batch_blocks = 64;
    /// Blocks of a batch. No document at hand gives the number.
    static constexpr std::size_t target(std::size_t block_size) {
        return std::clamp(batch_bytes / block_size, std::size_t{1}, batch_blocks);
    }
};

template <class P = ThresholdParameters>
using ThresholdHeaps = family::ChunkHeap<typename P::Classes, family::ThresholdLists<P>>;

} // namespace cairn
