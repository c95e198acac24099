// SPDX-License-Identifier: MIT
//
// Fence: an asymmetric pair of memory fences. The light side costs nothing but keeps the compiler from reordering; the
// heavy side makes every other thread of the process pass a full fence.
//
// Adds:    light_fence, heavy_fence, and whether there is none.
// Threads: any.
// Errors:  heavy_fence answers false where the system has no means for it: then nothing was ordered.
// Cost:    light: none. heavy: a system call, which interrupts the processors that run threads of this process.
// Source:  membarrier(2), in Linux since 4.14.
#pragma once

#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <atomic>

namespace cairn::platform {

/// With a heavy_fence() of another thread: if that comes after this one, the other thread sees what we stored before; if
/// it comes first, we see from here on what the other thread stored before.
CAIRN_INLINE void light_fence() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// membarrier's numbers, from linux/membarrier.h: not every C library brings it.
inline constexpr long membarrier_private_expedited = 1 << 3;
inline constexpr long membarrier_register_private_expedited = 1 << 4;

/// Whether a heavy_fence() was asked for and there was none. relaxed: once true, it stays so; a hint.
inline constinit std::atomic<bool> heavy_fence_missing_{false};
inline bool heavy_fence_missing() {
    return heavy_fence_missing_.load(std::memory_order_relaxed);
}

inline bool heavy_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    long result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    if (CAIRN_UNLIKELY(failed(result))) { // the first time a process has to say that it will
        raw_syscall(SYS_membarrier, membarrier_register_private_expedited);
        result = raw_syscall(SYS_membarrier, membarrier_private_expedited);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (CAIRN_UNLIKELY(failed(result))) {
        heavy_fence_missing_.store(true, std::memory_order_relaxed); // relaxed: see there
        return false;
    }
    return true;
}

} // namespace cairn::platform
