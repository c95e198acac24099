// SPDX-License-Identifier: MIT
//
// First-class heaps: heaps of their own inside the process, whose blocks go all at once (process_heap.hpp has
// create, allocate, deallocate and destroy).
//
// Adds:    superblocks that belong to one heap until they are empty or it is destroyed, a table of its long
//          blocks, a lock; and what these heaps are to the process: its fork, its statistics.
// Needs:   the process heap's superblock maker, its large and huge blocks, its malloc for the heap itself.
// Keeps:   the slots of their superblocks are marked as the inside of a large block, so `free` of such a block
//          ends the program with one line, and the repair after a fork leaves them alone; long blocks are hidden.
// Threads: any; one lock a heap. All of them are held while the process forks, for some microseconds, so the
//          child finds every heap whole. They are the innermost of the program's locks: nothing is called with
//          one held that could wait for the thread that forks.
// Cost:    a lock for each call; a heap without blocks takes 7.5 KiB.
// Source:  heaps that are deleted as a whole: Heap Layers, sections 1 (regions) and 5.2 (obstacks).
#pragma once

#include "process_heap.hpp"

namespace cairn::process_heap {

/// Once, when the library is loaded: first-class heaps then are whole in the child of a fork.
void keep_heaps_across_fork() noexcept;

/// In the child, after the process heap's repair and before the heaps are let go: what their superblocks have not touched is
/// counted anew, since that repair looks at its own superblocks only.
void untouch_after_fork() noexcept;

} // namespace cairn::process_heap
