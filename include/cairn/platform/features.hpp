// SPDX-License-Identifier: MIT
//
// Features: what the target offers, as named constants. The only place that reads compiler and system macros
// for their own sake; everywhere else `if constexpr` on one of these names.
#pragma once

#include <cstddef>

#define CAIRN_INLINE __attribute__((always_inline)) inline
#define CAIRN_COLD __attribute__((noinline, cold))
#define CAIRN_NOINLINE __attribute__((noinline))
/// A library may say that what it exports is weak, when it brings stricter functions of its own.
#if !defined(CAIRN_EXPORT)
#define CAIRN_EXPORT __attribute__((visibility("default")))
#endif
/// Before a return: a jump, whatever is optimized. g++ 12 has no such word; -foptimize-sibling-calls does it there.
#if __has_cpp_attribute(clang::musttail)
#define CAIRN_TAIL_CALL [[clang::musttail]]
#else
#define CAIRN_TAIL_CALL
#endif
#define CAIRN_LIKELY(x) __builtin_expect(!!(x), 1)
#define CAIRN_UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace cairn::platform {

/// What two processors can own separately.
inline constexpr std::size_t cache_line = 64;

/// x86 fetches lines in pairs: who uses one takes the other from the processor that writes to it. What threads write to all the time
/// is so far apart (Intel's optimization manual, spatial prefetcher).
inline constexpr std::size_t line_pair = 2 * cache_line;

/// The smallest page of any kernel on the target; the real size is asked for at run time (vm.hpp).
inline constexpr std::size_t smallest_page = 4096;

/// Bits of a user-space address as the kernel hands them out without being asked for more.
#if defined(__x86_64__)
inline constexpr unsigned address_bits = 47;
#elif defined(__aarch64__)
inline constexpr unsigned address_bits = 48;
#else
#error "Cairn knows x86-64 and aarch64"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// The threads of a test run one at a time, as its scheduler says: who would sleep lets it choose another.
#if defined(CAIRN_SIMULATED)
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

/// glibc calls constructors with the arguments of main.
#if defined(__GLIBC__)
inline constexpr bool constructors_have_arguments = true;
#else
inline constexpr bool constructors_have_arguments = false;
#endif

/// dynamic_cast and typeid: not with -fno-rtti.
#if defined(__cpp_rtti)
inline constexpr bool has_rtti = true;
#else
inline constexpr bool has_rtti = false;
#endif

/// CAIRN_BY_CHECKS marks a class that is another one in files with assertions: it has a member more, or two of its functions must
/// agree. A program may have files of both kinds, and of inline functions that have one name the linker keeps one.
/// CAIRN_THREAD_LOCAL_IF_CHECKED marks a variable that the linker refuses to have in both.
#if defined(NDEBUG)
inline constexpr bool checked = false;
#define CAIRN_BY_CHECKS
#define CAIRN_THREAD_LOCAL_IF_CHECKED
#else
inline constexpr bool checked = true;
#define CAIRN_BY_CHECKS __attribute__((abi_tag("checked")))
#define CAIRN_THREAD_LOCAL_IF_CHECKED thread_local
#endif

} // namespace cairn::platform
