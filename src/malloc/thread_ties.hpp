// SPDX-License-Identifier: MIT
//
// Thread ties: find thread heaps whose threads have ended. The destructor of a pthread key reports the end of a thread,
// except of a thread that gets a heap after that destructor has run for the last time: one that allocates in the
// destructor of another key, in the last round of destructors. So each thread holds a robust mutex, its tie, while it
// has a heap: the kernel flags the mutex when its holder has ended (EOWNERDEAD).
//
// Keeps:   a heap is taken only from a thread that has ended, as the kernel says. The number of a thread would not tell
//          this: a later thread may get it, and in the child of a fork the thread has another number.
// Threads: any; forget_threads in the child of a fork, where no other thread exists.
// Errors:  when no tie can be made, the heap of the thread is lost if the destructor does not report its end.
// Cost:    a lock and 64 bytes for each thread. All ties are checked when there is no loose tie and 32 were made; if
//          fewer than half of them were flagged, the next check comes at twice as many. So there are at most 32 ties,
//          or 4 times the largest number of threads at one time.
#pragma once

#include "process_heap.hpp"

namespace cairn::process_heap::thread_ties {

struct Tie;

/// A tie for the calling thread, which got the thread heap `mine`; nullptr when none can be made. May close heaps of
/// threads that have ended.
Tie *tie(Heap::Heap *mine) noexcept;

/// The calling thread, which has the tie, has given its heap back.
void untie(Tie *) noexcept;

/// In the child of a fork: makes all ties loose, except `own`, the one of the calling thread.
void forget_threads(const Tie *own) noexcept;

/// The bytes of all ties.
std::size_t metadata() noexcept;

} // namespace cairn::process_heap::thread_ties
