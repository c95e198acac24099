// SPDX-License-Identifier: MIT
//
// Fence: an asymmetric pair of memory fences. The light fence executes no instruction and only keeps the compiler from
// reordering; the heavy fence makes every other thread of the process pass a full fence.
//
// Adds:    light_fence, heavy_fence, heavy_fence_missing.
// Threads: any.
// Errors:  heavy_fence() returns false when the system does not provide it, or has no memory: then nothing was ordered.
// Cost:    light: none. heavy: a system call, which interrupts the processors that run threads of this process.
//          prepare_heavy_fence: a system call; short while the process has one thread, otherwise it waits in the
//          kernel.
// Source:  membarrier(2), in Linux since 4.14; C++ proposal P1202 has the pair under the name of asymmetric fences.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <atomic>
#include <cerrno>

namespace cairn::platform {

/// Pairs with heavy_fence() of another thread. If the heavy fence comes after the light one, the other thread sees what
/// this thread stored before the light fence; if it comes first, this thread sees, from the light fence on, what the
/// other thread stored before the heavy fence.
CAIRN_INLINE void light_fence() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The commands of membarrier(2), from linux/membarrier.h, which is not installed with every C library.
inline constexpr long membarrier_private_expedited = 1 << 3;
inline constexpr long membarrier_register_private_expedited = 1 << 4;

/// Whether a call has shown that the system provides no heavy fence. relaxed: the flag changes once, from false to
/// true; it is a hint, and each caller allows for an old false.
inline constinit std::atomic<bool> heavy_fence_missing_{false};
inline bool heavy_fence_missing() {
    return heavy_fence_missing_.load(std::memory_order_relaxed);
}

/// Whether a call of membarrier(2) succeeded. After a failure for want of memory the next call may succeed; after any
/// other one the heavy fence counts as missing.
inline bool fence_granted(long result) {
    if (CAIRN_UNLIKELY(failed(result) && result != -ENOMEM)) {
        heavy_fence_missing_.store(true, std::memory_order_relaxed); // relaxed: the flag changes once
    }
    return !failed(result);
}

/// Registers the process with the kernel, before any thread calls heavy_fence(). After it heavy_fence_missing() is
/// reliable.
inline void prepare_heavy_fence() {
    fence_granted(raw_syscall(SYS_membarrier, membarrier_register_private_expedited));
}

/// Makes every other thread of the process pass a full fence, and passes one itself. False: nothing was ordered.
inline bool heavy_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    if (CAIRN_UNLIKELY(failed(result))) { // the process may not be registered
        raw_syscall(SYS_membarrier, membarrier_register_private_expedited);
        result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return fence_granted(result);
}

} // namespace cairn::platform
