// SPDX-License-Identifier: MIT
//
// Thread ties: which thread heaps have lost their threads. A thread's end is known by the destructor of a pthread key, but for a
// thread that allocates once that destructor has had its last turn: from the destructor of a younger key, in the last of the
// rounds. So each thread holds a robust mutex as long as it has a heap: the kernel marks it when its holder is gone.
//
// Keeps:   a heap is taken away only from a thread that the kernel says has ended. A number of the thread would not
//          say so: others get it later, and a child of a fork has another.
// Threads: any; forget_threads in the child of a fork alone.
// Errors:  a tie that is not to be had is none: that thread's heap is lost if its end is not known otherwise.
// Cost:    a lock and 64 bytes for each thread started and ended. A look at all threads whenever as many as half of the ties
//          have been cut, so that there are never more than 32, or 4 times as many as threads at one time.
#pragma once

#include "process_heap.hpp"

namespace cairn::process_heap::thread_ties {

struct Tie;

/// Between the calling thread, which got `mine`, and this heap. nullptr for none. May give heaps of threads that have ended back.
Tie *tie(Heap::Heap *mine) noexcept;

/// By the same thread, when it has given its heap back.
void untie(Tie *) noexcept;

/// Only the calling thread is there, which has `own`.
void forget_threads(const Tie *own) noexcept;

/// Bytes of what ties are made of.
std::size_t metadata() noexcept;

} // namespace cairn::process_heap::thread_ties
