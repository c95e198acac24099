// SPDX-License-Identifier: MIT
//
// move_block: reallocate, where a block can not stay.
//
// Adds:    a block of `size` bytes with what the one at p has, of which `room` bytes may be used, and p is freed.
// Keeps:   who asks for fewer bytes needs no memory: without any, p is the answer.
// Threads: those of the heap.
// Errors:  nullptr when the heap has nothing longer; then p is as it was.
// Cost:    a malloc, a copy, a free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cairn {

template <class H>
void *move_block(H &heap, void *p, std::size_t room, std::size_t size) {
    void *const moved = heap.malloc(size);
    if (moved == nullptr) {
        return size <= room ? p : nullptr;
    }
    std::memcpy(moved, p, std::min(size, room));
    heap.free(p);
    return moved;
}

} // namespace cairn
