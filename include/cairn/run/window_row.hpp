// SPDX-License-Identifier: MIT
//
// Window row: the segments whose windows are adjacent, nearly all segments of a process. A test whether an address lies
// in one of them takes four instructions instead of eight.
//
// Adds:    whether an address is in the row; where the row begins and continues; in_segment, for any address.
// Needs:   WindowMap for the other segments: those made while another mapping lay behind the row, or while a second
//          instance of this allocator in the process extended it.
// Keeps:   every address of the row is in a segment: the row only gets longer, by a segment that exists already.
// Threads: any may ask. A thread may not see the newest window of the row; then it asks the map.
// Cost:    four instructions, two loads.
// Source:  docs/decisions/contiguous-segments.md.
#pragma once

#include <cairn/run/window_map.hpp>

#include <algorithm>

namespace cairn {

class WindowRow {
public:
    /// Whether the address is in the row.
    static CAIRN_INLINE bool holds(std::uintptr_t address) {
        return platform::is_within(address, row_.begin, row_.bytes);
    }
    /// Whether the address is in the row; subtracts the start of the row from it.
    static CAIRN_INLINE bool holds_at(std::uintptr_t &address) {
        return platform::is_within(address, row_.begin, row_.bytes);
    }

    /// The address for the next window of the row; 0 if there is no row yet.
    static std::uintptr_t end() {
        // acquire: pairs with the release in add(): the start of the row is visible with its length.
        const std::uintptr_t bytes = __atomic_load_n(&row_.bytes, __ATOMIC_ACQUIRE);
        return bytes != 0 ? __atomic_load_n(&row_.begin, __ATOMIC_RELAXED) + bytes : 0;
    }

    /// The address for the first window: far below the kernel's own choices, so that the kernel maps nothing right
    /// behind the row; as random as those are. Under ThreadSanitizer, which supports only the addresses that the kernel
    /// uses, near them.
    static std::uintptr_t start(std::uintptr_t where_the_kernel_maps) {
        constexpr std::uintptr_t far = std::uintptr_t{1} << (platform::address_bits - 4);
        const std::uintptr_t below = platform::sanitized ? 0 : std::min(far, where_the_kernel_maps / 2);
        return align_down(where_the_kernel_maps - below, window_size);
    }

    /// Enters the window of a segment into the map, and into the row if it is the next one. Several threads may do so.
    static void add(const void *window) {
        WindowMap::set(window, WindowKind::segment);
        std::uintptr_t nowhere = nowhere_;
        // relaxed: readers use the start only with a length, which is stored below.
        __atomic_compare_exchange_n(&row_.begin, &nowhere, address_of(window), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        std::uintptr_t before = address_of(window) - __atomic_load_n(&row_.begin, __ATOMIC_RELAXED);
        // release: pairs with the acquire in end(): a thread that reads this length also sees the start.
        __atomic_compare_exchange_n(&row_.bytes, &before, before + window_size, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    }

private:
    static constexpr std::uintptr_t nowhere_ = std::uintptr_t{1} << 63; // above all addresses

    struct alignas(platform::line_pair) Row { // every free reads it: in a cache line of its own
        std::uintptr_t begin;                 ///< changes once
        std::uintptr_t bytes;
    };
    static inline constinit Row row_{nowhere_, 0};
};

/// Whether an address lies in the window of a segment. Sets `low` to a number whose bits below window_size are those of
/// the address.
CAIRN_INLINE bool in_segment(std::uintptr_t address, std::uintptr_t &low) {
    low = address;
    if (CAIRN_LIKELY(WindowRow::holds_at(low))) {
        return true;
    }
    low = address;
    return WindowMap::kind(address) == WindowKind::segment;
}
CAIRN_INLINE bool in_segment(std::uintptr_t address) {
    std::uintptr_t low = address;
    return in_segment(address, low);
}

} // namespace cairn
