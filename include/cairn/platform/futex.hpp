// SPDX-License-Identifier: MIT
//
// Futex: a thread sleeps while a word holds a value, another one wakes it. Also yielding and the monotonic clock.
//
// Errors:  none that matter: a wait may return early for any reason, and callers read the word again.
// Threads: any.
// Cost:    a system call each.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>

/// Lets the scheduler of a test choose another thread (features.hpp: simulated).
extern "C" void cairn_simulated_wait();

namespace cairn::platform {

/// Sleeps while `word` holds `expected`, at most `milliseconds` (negative: for ever).
inline void futex_wait(std::atomic<std::uint32_t> &word, std::uint32_t expected, long milliseconds = -1) {
    if constexpr (simulated) {
        return cairn_simulated_wait();
    }
    timespec timeout{milliseconds / 1000, milliseconds % 1000 * 1000000};
    raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, static_cast<long>(expected),
                milliseconds < 0 ? 0 : reinterpret_cast<long>(&timeout));
}

inline void futex_wake(std::atomic<std::uint32_t> &word, int count = 1) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, count);
}

inline void yield() {
    if constexpr (simulated) {
        return cairn_simulated_wait();
    }
    raw_syscall(SYS_sched_yield);
}

/// For a thread that waits for another thread and has no word to sleep on: yields in the first tries, then sleeps for a
/// millisecond in each. All `longest_wait` tries together take some 100 ms on an idle machine.
inline constexpr int longest_wait = 200; ///< tries
inline void wait_a_little(int tries) {
    if (tries < longest_wait / 2) {
        yield();
    } else {
        std::atomic<std::uint32_t> never{0};
        futex_wait(never, 0, 1);
    }
}

inline std::uint64_t monotonic_microseconds() {
    if constexpr (simulated) {
        return 0; // the results of such a test do not depend on time
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}
inline std::uint64_t monotonic_milliseconds() {
    return monotonic_microseconds() / 1000;
}

} // namespace cairn::platform
