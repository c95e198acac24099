// SPDX-License-Identifier: MIT
//
// Large size: how long the block of a large run is, which has its descriptor and pages up to the end of its last slot, and where it
// begins: what it leaves of its last page lies before it as well as behind it, so that long blocks begin at different cache lines.
//
// Adds:    of, slots_for, begin, change; drop_tail, for a block that has become shorter.
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

/// Of a run for a block of `size` with so many bytes before it.
inline unsigned slots_for(std::size_t size, std::size_t before = 0) {
    return static_cast<unsigned>(ceil_div(before + size, slot_size));
}

/// It ends where a page does.
inline void change(OwnerLine *first, std::size_t size) {
    const std::size_t before = shift_of(first);
    const std::size_t end = align_up(before + size, platform::smallest_page);
    shared_of(first)->block_size = static_cast<std::uint32_t>(end - before);
}

/// A new block in the run; it touches no more pages wherever it begins.
inline void *begin(OwnerLine *first, std::size_t size, std::size_t alignment) {
    const std::size_t left = align_up(size, platform::smallest_page) - size;
    const std::size_t lines = alignment <= platform::cache_line ? left / platform::cache_line + 1 : 1;
    shared_of(first)->first_block = memory_of(first) + spread_at(Segment::of(first)->slot_of(first), lines);
    change(first, size);
    // relaxed: in the pointer's history
    shared_of(first)->starts_below.store(Segment::live, std::memory_order_relaxed);
    return reinterpret_cast<void *>(blocks_of(first));
}

/// Of a block whose end was `before`, in its run: what lies behind it goes back to the operating system if it is much.
inline void drop_tail(OwnerLine *first, std::size_t before) {
    constexpr std::size_t least = 16_KiB;
    const std::size_t page = platform::vm::page_size();
    const std::size_t from = align_up(shift_of(first) + of(first), page);
    const std::size_t end = align_down(before < span_of(first) ? before : span_of(first), page);
    if (end >= from + least) {
        platform::vm::purge(reinterpret_cast<void *>(memory_of(first) + from), end - from);
    }
}

} // namespace cairn::large_size
