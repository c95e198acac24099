// SPDX-License-Identifier: MIT
//
// Features: what the target offers, as named constants. The only place that reads compiler and system macros
// for their own sake; everywhere else `if constexpr` on one of these names.
#pragma once

#include <cstddef>

#define CAIRN_INLINE __attribute__((always_inline)) inline
#define CAIRN_COLD __attribute__((noinline, cold))
#define CAIRN_NOINLINE __attribute__((noinline))
/// A library may define CAIRN_EXPORT before, to make its exported functions weak, when it has stricter versions of
/// them.
#if !defined(CAIRN_EXPORT)
#define CAIRN_EXPORT __attribute__((visibility("default")))
#endif
/// Before a return statement: a tail call at any level of optimization. g++ 12 has no such attribute; there
/// -foptimize-sibling-calls makes the tail call.
#if __has_cpp_attribute(clang::musttail)
#define CAIRN_TAIL_CALL [[clang::musttail]]
#else
#define CAIRN_TAIL_CALL
#endif
#define CAIRN_LIKELY(x) __builtin_expect(!!(x), 1)
#define CAIRN_UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace cairn::platform {

/// The size of a cache line: two processors can own two lines separately.
inline constexpr std::size_t cache_line = 64;

/// x86 processors fetch lines in pairs: a processor that uses one line takes the other one from a processor that writes
/// to it. Data that different threads write often lie this far apart (Intel's optimization manual, spatial prefetcher).
inline constexpr std::size_t line_pair = 2 * cache_line;

/// The smallest page size of any kernel on the target; vm::page_size() returns the actual one.
inline constexpr std::size_t smallest_page = 4096;

/// The number of bits of a user-space address that the kernel uses by default.
#if defined(__x86_64__) && defined(__LP64__)
inline constexpr unsigned address_bits = 47;
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)
inline constexpr unsigned address_bits = 48;
#else
#error "Cairn knows x86-64 and aarch64, with pointers of 64 bits, the lowest byte first"
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

/// A test with its own scheduler runs one thread at a time: a thread that would sleep or yield calls that scheduler.
#if defined(CAIRN_SIMULATED)
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

/// glibc passes the arguments of main to constructors.
#if defined(__GLIBC__)
inline constexpr bool constructors_have_arguments = true;
#else
inline constexpr bool constructors_have_arguments = false;
#endif

/// dynamic_cast and typeid can be used; false with -fno-rtti.
#if defined(__cpp_rtti)
inline constexpr bool has_rtti = true;
#else
inline constexpr bool has_rtti = false;
#endif

/// CAIRN_BY_CHECKS marks a class that differs between files with assertions and files without: it has one more member,
/// or two of its functions depend on each other, or a function that takes a lock and the caller that releases it. A
/// program may have files of both kinds, and the linker keeps one of several inline functions with the same name; the
/// ABI tag gives them different names, and so it does to variables of such a class: one that both kinds of files share
/// is of another class.
/// CAIRN_THREAD_LOCAL_IF_CHECKED marks a variable that makes the linker refuse a program with files of both kinds.
#if defined(NDEBUG)
inline constexpr bool checked = false;
#define CAIRN_BY_CHECKS
#define CAIRN_THREAD_LOCAL_IF_CHECKED
#else
inline constexpr bool checked = true;
#define CAIRN_BY_CHECKS __attribute__((abi_tag("checked")))
#define CAIRN_THREAD_LOCAL_IF_CHECKED thread_local
#endif

/// In the same way, what differs between files with and without exceptions, and files with and without RTTI.
#if defined(__cpp_exceptions)
#define CAIRN_BY_EXCEPTIONS
#else
#define CAIRN_BY_EXCEPTIONS __attribute__((abi_tag("no_exceptions")))
#endif
#if defined(__cpp_rtti)
#define CAIRN_BY_RTTI
#else
#define CAIRN_BY_RTTI __attribute__((abi_tag("no_rtti")))
#endif

} // namespace cairn::platform
