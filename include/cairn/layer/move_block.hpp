// SPDX-License-Identifier: MIT
//
// move_block: reallocation by a new block, a copy and a free.
//
// Adds:    move_block(heap, p, room, size): returns a new block of `size` bytes with the contents of the block at p,
//          whose usable size is `room`, and frees p.
// Keeps:   a request for at most `room` bytes never fails: when the heap is out of memory, it returns p.
// Threads: those of the heap.
// Errors:  nullptr when the heap is out of memory, or its exception; p is then unchanged.
// Cost:    a malloc, a copy, a free.
#pragma once

#include <cairn/platform/bad_alloc.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cairn {

template <class H>
CAIRN_BY_EXCEPTIONS void *move_block(H &heap, void *p, std::size_t room, std::size_t size) {
    void *const moved = platform::null_for_bad_alloc([&] { return heap.malloc(size); }, size <= room);
    if (moved == nullptr) {
        return size <= room ? p : nullptr;
    }
    std::memcpy(moved, p, std::min(size, room));
    heap.free(p);
    return moved;
}

} // namespace cairn
