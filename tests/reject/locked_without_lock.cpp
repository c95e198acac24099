// SPDX-License-Identifier: MIT
// expect: LockedHeap
// expect: LockType
#include <cairn/source/system_malloc.hpp>
#include <cairn/thread/locked.hpp>

struct NoUnlock {
    void lock();
};

cairn::LockedHeap<cairn::MallocHeap, NoUnlock> heap;
