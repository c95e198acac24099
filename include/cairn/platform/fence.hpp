// SPDX-License-Identifier: MIT
//
// Fence: an asymmetric pair of memory fences. The light side costs nothing but keeps the compiler from reordering; the
// heavy side makes every other thread of the process pass a full fence.
//
// Adds:    light_fence, heavy_fence, and whether there is none.
// Threads: any.
// Errors:  heavy_fence answers false where the system has no means for it, or no memory: then nothing was ordered.
// Cost:    light: none. heavy: a system call, which interrupts the processors that run threads of this process.
//          prepare_heavy_fence: a system call, short while the process has one thread; later it waits for the kernel.
// Source:  membarrier(2), in Linux since 4.14.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <atomic>
#include <cerrno>

namespace cairn::platform {

/// With a heavy_fence() of another thread: if that comes after this one, the other thread sees what we stored before; if
/// it comes first, we see from here on what the other thread stored before.
CAIRN_INLINE void light_fence() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// membarrier's numbers, from linux/membarrier.h: not every C library brings it.
inline constexpr long membarrier_private_expedited = 1 << 3;
inline constexpr long membarrier_register_private_expedited = 1 << 4;

/// Whether it has turned out that there is no heavy_fence(). relaxed: once true, it stays so; a hint.
inline constinit std::atomic<bool> heavy_fence_missing_{false};
inline bool heavy_fence_missing() {
    return heavy_fence_missing_.load(std::memory_order_relaxed);
}

/// Whether a call for a fence did what it should. Out of memory, the next one may.
inline bool fence_granted(long result) {
    if (CAIRN_UNLIKELY(failed(result) && result != -ENOMEM)) {
        heavy_fence_missing_.store(true, std::memory_order_relaxed); // relaxed: see there
    }
    return !failed(result);
}

/// Before anybody relies on heavy_fence(): from here on heavy_fence_missing() is known.
inline void prepare_heavy_fence() {
    fence_granted(raw_syscall(SYS_membarrier, membarrier_register_private_expedited));
}

inline bool heavy_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    if (CAIRN_UNLIKELY(failed(result))) { // nobody has prepared it in this process
        raw_syscall(SYS_membarrier, membarrier_register_private_expedited);
        result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return fence_granted(result);
}

} // namespace cairn::platform
