// SPDX-License-Identifier: MIT
//
// Window map: for every 32 MiB window of the address space, one byte that says what the malloc has mapped there.
//
// Adds:    the kind of window of any pointer, valid or not, without an access to the memory at that address.
// Needs:   4 MiB of zero-initialised address space (8 MiB on aarch64), of which one page covers 128 GiB.
// Keeps:   `segment` only while the window's first slots hold a live Segment.
// Threads: any may read; the thread that maps or unmaps a window writes its byte.
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
        // relaxed: a pointer from malloc was passed to this thread with synchronisation that also makes the byte
        // visible; for any other pointer either value will do.
        return CAIRN_LIKELY(window < windows - 1) // the last window is never used, see covers()
                   ? static_cast<WindowKind>(__atomic_load_n(&kinds_[window], __ATOMIC_RELAXED))
                   : WindowKind::foreign;
    }

    static void set(const void *window, WindowKind kind) {
        // relaxed: pairs with the load in kind(). Two writers of one byte are ordered by the lock of the heap that has
        // the window, and by the kernel, which maps an address for one heap only after another one has unmapped it.
        __atomic_store_n(&kinds_[address_of(window) / window_size], static_cast<std::uint8_t>(kind),
                         __ATOMIC_RELAXED);
    }

    /// Whether the map has a byte for the range. The last window has none that counts: kind() needs one comparison
    /// then.
    static bool covers(const void *p, std::size_t bytes) {
        return (address_of(p) + bytes - 1) / window_size < windows - 1;
    }

private:
    // Bytes and not std::atomic: the compiler would evaluate millions of constructors.
    static inline constinit std::uint8_t kinds_[windows]{};
};

} // namespace cairn
