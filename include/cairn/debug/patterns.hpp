// SPDX-License-Identifier: MIT
//
// Patterns: bytes that tell what memory is, to whoever looks at it, and who notices when somebody has written there.
//
// Adds:    what is unwritten, what was freed, and the guard behind a block; the first byte that is not as it was.
// Needs:   nothing.
// Keeps:   no pattern is 0, or a likely text, or the low half of a pointer that could be followed.
// Threads: pure functions on memory that is the caller's.
// Cost:    a store or a load a byte.
// Source:  Heap Layers, Figure 8, fills with 'A' and 'F'.
#pragma once

#include <cairn/debug/finding.hpp>
#include <cairn/platform/features.hpp>

#include <algorithm>
#include <cstring>

namespace cairn::debug {

inline constexpr unsigned char unwritten_byte = 0xca;
inline constexpr unsigned char freed_byte = 0xdf;
inline constexpr unsigned char guard_byte = 0xfd;

/// Of larger blocks only the beginning has a pattern: a gigabyte that nobody has touched stays untouched.
inline constexpr std::size_t most_filled = 64 * 1024;

CAIRN_NOINLINE inline void fill(void *p, std::size_t from, std::size_t to, unsigned char byte) {
    const std::size_t end = std::min(to, most_filled);
    if (from < end) {
        std::memset(static_cast<unsigned char *>(p) + from, byte, end - from);
    }
}

/// The offset of the first byte in [from, to) that is not `byte`, or `to`.
inline std::size_t first_other(const void *p, std::size_t from, std::size_t to, unsigned char byte) {
    const auto *const bytes = static_cast<const unsigned char *>(p);
    // Almost always: the first is right, and each is like the one before it.
    if (from == to ||
        (bytes[from] == byte && std::memcmp(bytes + from, bytes + from + 1, to - from - 1) == 0)) {
        return to;
    }
    while (bytes[from] == byte) {
        ++from;
    }
    return from;
}

/// The policy is told if the part of a block that has a pattern is not what it was.
template <FaultPolicy Policy>
void expect_filled(const void *p, std::size_t size, unsigned char byte, Fault otherwise) {
    const std::size_t seen = std::min(size, most_filled);
    const std::size_t offset = first_other(p, 0, seen, byte);
    if (offset != seen) {
        Policy::found({otherwise, p, size, offset});
    }
}

} // namespace cairn::debug
