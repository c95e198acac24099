// SPDX-License-Identifier: MIT
// expect: trim
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>

// An operation that LockedHeap does not know would run without the lock: it can not be called.
struct WithMore : cairn::MallocHeap {
    void trim();
};

void use(cairn::LockedHeap<WithMore> &heap) {
    heap.trim();
}
