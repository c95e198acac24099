// SPDX-License-Identifier: MIT
//
// Purger: gives free memory back to the operating system some time after it was last needed, also while the
// program makes no call at all. Its thread is started when the heap has grown so far that there may be much to
// give back, and sleeps without a timer while there is not.
//
// The thread is started by malloc, never by free: libc calls free with locks held that pthread_create takes
// (pthread_join frees the thread-local storage of stacks that it unmaps). So in the child of a fork, which has no such thread until
// its memory grows, who frees gives back at once what is too much.
//
// A program of one thread has one when it forks, too, for those that look (Python warns when it does not): the purger leaves unless
// it has much to do, and comes again when memory grows.
//
// The process ends with the last of the program's threads: when the main one ends, and others go on, so does the purger, and those
// that free have the ticks.
//
// Threads: `grew`, `surplus`, `returned` and `before_fork` any, with no lock of the heap held; `forget` in the child of a fork.
// Cost:    `surplus` is called by the slow path of free when more than `wake_at` bytes are free; one load when
//          the thread is at work already. `returned`, in slow paths of a thread that was absent, the same.
#pragma once

#include "options.hpp"

namespace cairn::process_heap::purger {

/// A heap below this never has the thread: it may keep as much, however little of it is in use.
inline constexpr std::size_t start_at = 24_MiB;

/// Free memory below this does not wake the purger.
inline constexpr std::size_t wake_at = 16_MiB;

void loaded() noexcept; ///< by the library's constructor
void configure(const Options &options) noexcept;
void grew() noexcept;
void surplus() noexcept;
void returned() noexcept;
void before_fork() noexcept;      ///< waits for the purger to leave, 20 ms at most
bool leave() noexcept;            ///< the same, whatever it has to do; false where there is none to leave
void main_thread_ends() noexcept; ///< by pthread_exit; waits for the purger, a second at most
void forget() noexcept;

} // namespace cairn::process_heap::purger
