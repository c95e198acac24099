// SPDX-License-Identifier: MIT
//
// The runtime under an allocator that was compiled with -fsanitize=thread: its loads and stores call us instead of the
// sanitizer's library. Threads are real, but one runs at a time, the one that has the baton: so every count is the same
// in every run.
//
// Threads: what is here is called by threads that `run` started.
#pragma once

#include "cache.hpp"

#include <functional>
#include <unordered_map>

namespace cairn::coherence {

/// How the baton is passed on.
struct Schedule {
    unsigned threads = 1;
    /// 0: at turns only. Else the seed of where else: at one atomic operation in `every` the baton goes to a thread
    /// that the seed chooses, in the midst of the allocator.
    std::uint64_t seed = 0;
    unsigned every = 8;
};

/// Runs body(0) ... body(threads - 1), each in a thread and with a cache of its own.
void run(const Schedule &schedule, const std::function<void(unsigned)> &body);

/// The end of a step: the baton goes to the next thread.
void turn();

/// All threads come here before any goes on.
void meet();

/// The program itself writes or reads a block. Lines move, and the count is the program's, not the allocator's.
void program_writes(void *p, std::size_t size);
void program_reads(const void *p, std::size_t size);

/// Of all that the allocator, and the program, did since the start.
Traffic allocator_traffic();
Traffic program_traffic();

/// From now on, the allocator's traffic by the place in its code that made it: the address a call returns to.
void want_places();
const std::unordered_map<const void *, Traffic> &allocator_places();

/// For what stands in for the C library. An access that the compiler did not instrument, by the thread that runs:
void touch(const void *place, const volatile void *p, std::size_t size, bool write);
void touch_atomically(const void *place, const volatile void *p, std::size_t size, bool write, bool rmw);
/// Who runs; 0 before `run`.
unsigned this_thread();
/// A clock that is the same in every run: an access takes a nanosecond, and the processors work at one time.
std::uint64_t nanoseconds();

/// Tells how many processors there will be, before `run`.
inline constexpr const char *processors_variable = "CAIRN_SIMULATED_PROCESSORS";

} // namespace cairn::coherence
