// SPDX-License-Identifier: MIT
//
// First-class heaps: separate heaps inside the process, whose blocks can be freed all at once (cairn_heap_create() and
// the other functions of <cairn/cairn.h>; process_heap.hpp declares create, allocate, deallocate and destroy).
//
// Adds:    superblocks that belong to one first-class heap until they are empty or the heap is destroyed; a table of
//          the heap's large and huge blocks; a lock; the part that these heaps have in a fork and in statistics.
// Needs:   the process heap's superblock maker, its large and huge blocks, and its malloc for the heap itself.
// Keeps:   the slot kinds of the superblocks are those of the inside of a large block: so free() of a block of a
//          first-class heap ends the program with one line, and the repair of the process heap after a fork leaves
//          these superblocks alone. The large and huge blocks are hidden from free().
// Threads: any; one lock for each heap. All of these locks are held while the process forks, for some microseconds, so
//          the child finds every heap consistent. With one of these locks held, no function is called that could wait
//          for the thread that forks.
// Cost:    a lock for each call; a heap without blocks takes 7.5 KiB.
// Source:  heaps that are deleted as a whole: Heap Layers, sections 1 (regions) and 5.2 (obstacks).
#pragma once

#include "process_heap.hpp"

namespace cairn::process_heap {

/// Registers the handlers of fork that keep first-class heaps consistent; called once, when the library is loaded.
void keep_heaps_across_fork() noexcept;

/// In the child of a fork, after the repair of the process heap, which counts only the superblocks of thread heaps, and
/// while the locks are still held: counts again what the superblocks of first-class heaps have not touched.
void untouch_after_fork() noexcept;

} // namespace cairn::process_heap
