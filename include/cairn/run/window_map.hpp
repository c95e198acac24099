// SPDX-License-Identifier: MIT
//
// Window map: for every 32 MiB window of the user's address space, one byte that says what Cairn has there.
//
// Adds:    an answer for any pointer whatsoever, valid, foreign or wild, without touching what it points to.
// Needs:   4 MiB of zero-initialised address space (8 MiB on aarch64), of which one page covers 128 GiB.
// Keeps:   `segment` only while the window's first slots hold a live Segment.
// Threads: any may read; a window's byte is written by who maps or unmaps the window.
// Cost:    one load; most frees need none (WindowRow).
#pragma once

#include <cairn/platform/cpu.hpp>
#include <cairn/run/segment.hpp>

namespace cairn {

enum class WindowKind : std::uint8_t { foreign = 0, segment = 1, huge = 2 };

class WindowMap {
public:
    static constexpr std::size_t windows = (std::size_t{1} << platform::address_bits) / window_size;

    static CAIRN_INLINE WindowKind kind(std::uintptr_t address) {
        const std::uintptr_t window = platform::computed(address / window_size);
        // relaxed: a pointer that came from malloc carries the mapping's history with it; any other pointer
        // only needs some answer.
        return CAIRN_LIKELY(window < windows - 1) // the last one is never ours, see covers()
                   ? static_cast<WindowKind>(__atomic_load_n(&kinds_[window], __ATOMIC_RELAXED))
                   : WindowKind::foreign;
    }

    static void set(const void *window, WindowKind kind) {
        // relaxed: pairs with the load in kind(); writers of one window are ordered by the locks of the heaps that
        // have it, and by the kernel, which hands an address out only after it got it back.
        __atomic_store_n(&kinds_[address_of(window) / window_size], static_cast<std::uint8_t>(kind),
                         __ATOMIC_RELAXED);
    }

    static bool covers(const void *p, std::size_t bytes) {
        return (address_of(p) + bytes - 1) / window_size < windows - 1; // the last window is nobody's: kind()
    }

private:
    // Bytes, not std::atomic: a constructor for each would be millions of steps for the compiler.
    static inline constinit std::uint8_t kinds_[windows]{};
};

} // namespace cairn
