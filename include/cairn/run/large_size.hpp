// SPDX-License-Identifier: MIT
//
// Large size: how long the block of a large run is, which has its descriptor and pages up to the end of its last slot.
//
// Adds:    of, set; drop_tail, for a block that has become shorter.
// Needs:   the descriptor of a run's first slot.
// Threads: who holds the block.
// Cost:    a load, a store; drop_tail a system call where that is worth it.
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/segment.hpp>

namespace cairn::large_size {

inline std::size_t of(const OwnerLine *first) {
    return shared_of(first)->block_size;
}

inline void set(OwnerLine *first, std::size_t size) {
    shared_of(first)->block_size = static_cast<std::uint32_t>(align_up(size, platform::smallest_page));
}

/// Of a block that was so long: what lies behind it in its run goes back to the operating system if it is much.
inline void drop_tail(OwnerLine *first, std::size_t before) {
    constexpr std::size_t least = 16_KiB;
    const std::size_t page = platform::vm::page_size();
    const std::size_t from = align_up(of(first), page);
    const std::size_t end = align_down(before < span_of(first) ? before : span_of(first), page);
    if (end >= from + least) {
        platform::vm::purge(reinterpret_cast<void *>(memory_of(first) + from), end - from);
    }
}

} // namespace cairn::large_size
