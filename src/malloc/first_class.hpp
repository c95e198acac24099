// SPDX-License-Identifier: MIT
//
// First-class heaps: separate heaps inside the process, whose blocks can be freed all at once (cairn_heap_create() and
// the other functions of <cairn/cairn.h>; process_heap.hpp declares create, allocate, deallocate and destroy).
//
// Adds:    the list of these heaps (first_class_heap.hpp), a lock for each, and their part in forks and statistics.
// Needs:   the process heap's malloc for the heap itself.
// Threads: any. The locks of all heaps are held while the process forks, for some microseconds, so the child finds
//          every heap consistent.
// Cost:    a lock for each call.
#pragma once

#include "process_heap.hpp"

namespace cairn::process_heap {

/// Registers the handlers of fork that keep first-class heaps consistent; called once, when the library is loaded.
void keep_heaps_across_fork() noexcept;

/// In the child of a fork, after the repair of the process heap, which counts only the superblocks of thread heaps, and
/// while the locks are still held: counts again what the superblocks of first-class heaps have not touched.
void untouch_after_fork() noexcept;

} // namespace cairn::process_heap
