// SPDX-License-Identifier: MIT
//
// Large size: the size of the block in a large run, and where the block begins in the run. A part of the unused bytes
// of its last page lies before the block, so that large blocks begin at different cache lines (cache colouring).
//
// Adds:    of, slots_for, begin, change; drop_tail, for a block that has become shorter.
// Needs:   the descriptor of the run's first slot.
// Threads: the thread that allocates, resizes or frees the block.
// Cost:    a load or a store; drop_tail a system call for 16 KiB or more.
#pragma once

#include <cairn/platform/vm.hpp>
#include <cairn/run/segment.hpp>

namespace cairn::large_size {

/// The usable size of the block.
inline std::size_t of(const OwnerLine *first) {
    return shared_of(first)->block_size;
}

/// The slots of a run for a block of `size` that begins `before` bytes after the start of the run.
inline unsigned slots_for(std::size_t size, std::size_t before = 0) {
    return static_cast<unsigned>(ceil_div(before + size, slot_size));
}

/// Sets the size of a block; the block ends at the end of a page.
inline void change(OwnerLine *first, std::size_t size) {
    const std::size_t before = shift_of(first);
    const std::size_t end = align_up(before + size, platform::smallest_page);
    shared_of(first)->block_size = static_cast<std::uint32_t>(end - before);
}

/// Starts a new block in the run and returns it. It needs as many pages as a block at the start of the run.
inline void *begin(OwnerLine *first, std::size_t size, std::size_t alignment) {
    const std::size_t left = align_up(size, platform::smallest_page) - size;
    const std::size_t lines = alignment <= platform::cache_line ? left / platform::cache_line + 1 : 1;
    shared_of(first)->first_block = memory_of(first) + spread_at(Segment::of(first)->slot_of(first), lines);
    change(first, size);
    // relaxed: whoever hands the pointer to another thread orders this store as well
    shared_of(first)->starts_below.store(Segment::live, std::memory_order_relaxed);
    return reinterpret_cast<void *>(blocks_of(first));
}

/// After a block was shortened: `before` is the former end in its run. Gives the pages behind the block back to the
/// operating system if they are 16 KiB or more. Returns how many bytes went back.
inline std::size_t drop_tail(OwnerLine *first, std::size_t before) {
    constexpr std::size_t least = 16_KiB;
    const std::size_t page = platform::vm::page_size();
    const std::size_t from = align_up(shift_of(first) + of(first), page);
    const std::size_t end = align_down(before < span_of(first) ? before : span_of(first), page);
    const bool gone = end >= from + least &&
                      platform::vm::purge(reinterpret_cast<void *>(memory_of(first) + from), end - from);
    return gone ? end - from : 0;
}

} // namespace cairn::large_size
