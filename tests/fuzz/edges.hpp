// SPDX-License-Identifier: MIT
//
// Edges: sizes where one way to serve a block ends and the next one begins, or where a size may lose bits; and the
// extents of the live blocks, no two of which may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace cairn::fuzz {

/// Of two bytes the size: a power of two, up to 64 slots of 64 KiB, as many less than a window of 32 MiB, up to 32 MiB,
/// or one that is `last` without its upper bits; and somewhat more or less.
inline std::size_t edge_from(std::uint8_t where, std::uint8_t off, std::size_t last) {
    constexpr std::size_t one = 1;
    constexpr std::size_t slot = 65536;
    constexpr std::size_t window = 512 * slot;
    constexpr std::ptrdiff_t offsets[16] = {0,   1,    -1,   7,     8,     -8,    15,     16,
                                            -16, 4095, 4096, -4096, 65535, 65536, -65536, -65537};
    const std::size_t at = where < 64    ? one << where
                           : where < 128 ? slot * (where - 63u)
                           : where < 192 ? window - slot * (where - 128u)
                           : where < 224 ? (where - 191u) * (one << 20)
                                         : (one << (32 + where % 32)) + last;
    return at + static_cast<std::size_t>(offsets[off % 16]);
}

class Extents {
public:
    /// False: it overlaps another one, or there is no such memory.
    bool add(const void *p, std::size_t bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const std::uintptr_t end = begin + (bytes == 0 ? 1 : bytes);
        const std::lock_guard hold(lock_);
        for (unsigned i = 0; i < count_; ++i) {
            if (begin < live_[i].end && live_[i].begin < end) {
                return false;
            }
        }
        if (begin >= end || count_ == most_) {
            return false;
        }
        live_[count_++] = {begin, end};
        return true;
    }

    /// False: there is none.
    bool remove(const void *p) {
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const std::lock_guard hold(lock_);
        for (unsigned i = 0; i < count_; ++i) {
            if (live_[i].begin == begin) {
                live_[i] = live_[--count_];
                return true;
            }
        }
        return false;
    }

private:
    struct Extent {
        std::uintptr_t begin;
        std::uintptr_t end;
    };
    static constexpr unsigned most_ = 128;
    std::mutex lock_;
    Extent live_[most_];
    unsigned count_ = 0;
};

} // namespace cairn::fuzz
