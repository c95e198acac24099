// SPDX-License-Identifier: MIT
//
// Window row: the segments whose windows lie one behind the other, which are nearly all of a process. Whether an
// address is in one is four instructions instead of eight.
//
// Adds:    whether an address is in it; where it begins and goes on; in_segment, for any address.
// Needs:   WindowMap, for segments elsewhere: where something else lay behind the row, or that another allocator of the process has
//          made meanwhile.
// Keeps:   an address of the row is one of a segment: it only gets longer, by a segment that is there.
// Threads: any may ask. A row that has just got longer may not be seen; then the map answers.
// Cost:    four instructions, two loads.
// Source:  docs/decisions/contiguous-segments.md.
#pragma once

#include <cairn/run/window_map.hpp>

#include <algorithm>

namespace cairn {

class WindowRow {
public:
    static CAIRN_INLINE bool holds(std::uintptr_t address) {
        return platform::is_within(address, row_.begin, row_.bytes);
    }
    /// The same, and makes of the address how far it lies behind the row's start.
    static CAIRN_INLINE bool holds_at(std::uintptr_t &address) {
        return platform::is_within(address, row_.begin, row_.bytes);
    }

    /// Where the next window goes, 0 for the first one.
    static std::uintptr_t end() {
        // acquire: pairs with the exchanges in add()
        const std::uintptr_t bytes = __atomic_load_n(&row_.bytes, __ATOMIC_ACQUIRE);
        return bytes != 0 ? __atomic_load_n(&row_.begin, __ATOMIC_RELAXED) + bytes : 0;
    }

    /// Where the first one goes: far below what the kernel maps, so that it maps nothing behind. As random as that is. A thread sanitizer
    /// knows but the addresses that the kernel uses.
    static std::uintptr_t start(std::uintptr_t where_the_kernel_maps) {
        constexpr std::uintptr_t far = std::uintptr_t{1} << (platform::address_bits - 4);
        const std::uintptr_t below = platform::sanitized ? 0 : std::min(far, where_the_kernel_maps / 2);
        return align_down(where_the_kernel_maps - below, window_size);
    }

    /// The window of a segment that is there, for the map, and for the row if it is the next one. Others may add theirs.
    static void add(const void *window) {
        WindowMap::set(window, WindowKind::segment);
        std::uintptr_t nowhere = nowhere_;
        // relaxed: the length says whether there is a row.
        __atomic_compare_exchange_n(&row_.begin, &nowhere, address_of(window), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        std::uintptr_t before = address_of(window) - __atomic_load_n(&row_.begin, __ATOMIC_RELAXED);
        // release: who finds the row that long finds its start.
        __atomic_compare_exchange_n(&row_.bytes, &before, before + window_size, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    }

private:
    static constexpr std::uintptr_t nowhere_ = std::uintptr_t{1} << 63; // no address is behind it

    struct alignas(platform::line_pair) Row { // read by every free: in a line of its own
        std::uintptr_t begin;                 ///< once set it stays
        std::uintptr_t bytes;
    };
    static inline constinit Row row_{nowhere_, 0};
};

/// Whether an address lies in the window of a segment; then `low` is some number with the address's lower bits.
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
