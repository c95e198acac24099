// SPDX-License-Identifier: MIT
//
// Purger: a background thread that gives free memory back to the operating system some time after it was last used,
// also while the program makes no call.
//
//              grew(): enough is resident            made              ___
//     absent ------------------------------> starting ----> at_work <___| tick
//       ^                                    ^   | no        |   ^
//       |       grew(): twice as much is     |   | thread    |   | wake(): memory was freed or taken,
//       |       resident as at the failure   |   v           |   | or a thread came back
//       |                                   refused  no work |   |
//       |                                                    v   |
//       +---------------------------------------------------- asleep
//          a thread has asked the purger to leave
//
// When the main thread ends, while others go on, the purger ends too: state refused, for good. The process ends with
// the last of the program's threads, and must not wait for the purger. In the states absent and refused threads that
// free memory have the ticks.
//
// The purger starts when so much memory is resident that there may be much to give back, and sleeps without a timer
// while there is nothing to do. malloc() starts it, never free(): the C library calls free() with locks held that
// pthread_create() takes (pthread_join() frees the thread-local storage of stacks that it unmaps). So in the child of a
// fork, which has no purger until its memory grows or another thread allocates, a thread that frees memory purges a
// large surplus at once, as it may not call again; if it frees another thread's blocks, it visits that thread's heap
// before.
//
// A program of one thread should have one thread when it forks, for programs that check (Python warns otherwise): the
// purger leaves before a fork unless it has much to purge, and starts again when memory grows. It leaves, too, when the
// kernel refuses a user namespace to a process of several threads (namespaces.cpp).
//
// Threads: grew, surplus, returned, before_fork, leave and has_thread any, with no lock of the heap held; forget in the
//          child of a fork.
// Cost:    surplus: called by the slow path of free when more than wake_at bytes are free; one load when the purger is
//          at work already. returned: called in a slow path of a thread that was inactive; the same cost.
#pragma once

#include "options.hpp"

namespace cairn::process_heap::purger {

/// A process with fewer resident bytes never has a purger: it may keep as much, however little of it is in use.
inline constexpr std::size_t start_at = 24_MiB;

/// The purger sleeps while fewer bytes are free.
inline constexpr std::size_t wake_at = 16_MiB;

void loaded() noexcept;                          ///< the library was loaded
void configure(const Options &options) noexcept; ///< takes over options
void grew() noexcept;                            ///< memory was taken from the operating system
void surplus() noexcept;                         ///< more memory is free than the limit
void returned() noexcept;                        ///< a thread that was reported inactive ran a slow path
bool is_absent() noexcept;                       ///< a process that is large enough for a purger has none
bool before_fork() noexcept; ///< waits for the purger to leave, 20 ms at most; whether the caller is the only thread
bool leave() noexcept;      ///< the same, a second at most, whatever it has to purge; false if none has left
bool has_thread() noexcept; ///< the kernel has the purger's thread, which may have left
void main_thread_ends() noexcept; ///< pthread_exit was called; waits for the purger, a second at most
void forget() noexcept;           ///< this is the child of a fork, without a purger

} // namespace cairn::process_heap::purger
