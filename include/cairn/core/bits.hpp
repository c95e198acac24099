// SPDX-License-Identifier: MIT
//
// Bits: powers of two, rounding, and size literals.
//
// Needs:   nothing.
// Threads: pure functions.
// Cost:    a few instructions each; all are constexpr.
#pragma once

#if __cplusplus < 202002L
#error "Cairn's headers are C++20: -std=c++20"
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cairn {

inline namespace literals {
consteval std::size_t operator""_KiB(unsigned long long n) {
    return static_cast<std::size_t>(n) << 10;
}
consteval std::size_t operator""_MiB(unsigned long long n) {
    return static_cast<std::size_t>(n) << 20;
}
consteval std::size_t operator""_GiB(unsigned long long n) {
    return static_cast<std::size_t>(n) << 30;
}
} // namespace literals

/// Not std::has_single_bit, which counts all bits: a function call where the target has no instruction for that.
constexpr bool is_power_of_two(std::size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

/// log2 of a power of two.
constexpr unsigned log2_exact(std::size_t n) {
    return static_cast<unsigned>(std::countr_zero(n));
}

/// The largest k with 2^k <= n; n > 0.
constexpr unsigned log2_floor(std::size_t n) {
    return static_cast<unsigned>(std::bit_width(n)) - 1;
}

/// Rounding to a multiple of `alignment`, a power of two. align_up() wraps to exactly 0 when n is greater than the
/// largest multiple, SIZE_MAX - alignment + 1: a caller checks the range before, or the result for 0.
constexpr std::size_t align_up(std::size_t n, std::size_t alignment) {
    return (n + alignment - 1) & ~(alignment - 1);
}
constexpr std::size_t align_down(std::size_t n, std::size_t alignment) {
    return n & ~(alignment - 1);
}
constexpr bool is_aligned(std::size_t n, std::size_t alignment) {
    return (n & (alignment - 1)) == 0;
}

constexpr std::size_t ceil_div(std::size_t n, std::size_t d) {
    return (n + d - 1) / d;
}

inline std::uintptr_t address_of(const void *p) {
    return reinterpret_cast<std::uintptr_t>(p);
}
inline bool is_aligned(const void *p, std::size_t alignment) {
    return is_aligned(address_of(p), alignment);
}

} // namespace cairn
