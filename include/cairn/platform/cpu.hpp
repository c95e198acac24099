// SPDX-License-Identifier: MIT
//
// CPU: a hint for spin loops, one for the cache, comparisons with memory, and the clock that costs least.
//
// Threads: any.
// Cost:    an instruction or two; ticks_in_order() waits for what was begun before.
#pragma once

#include <cairn/platform/features.hpp>

#include <atomic>
#include <cstdint>

namespace cairn::platform {

inline void cpu_relax() {
#if defined(__x86_64__)
    asm volatile("pause");
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Counts at a constant rate, the same on all processors.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#endif
}

/// The same, but nothing before it is still being done, and nothing after it has begun: for a few instructions to be timed.
inline std::uint64_t ticks_in_order() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    const std::uint64_t count = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return count;
#elif defined(__aarch64__)
    std::uint64_t count;
    asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
#endif
}

/// The same number. The compiler takes it as it is computed: it does not turn `x / 2^n < constant` into a comparison of x with a constant
/// that fits into no instruction.
CAIRN_INLINE std::uintptr_t computed(std::uintptr_t number) {
    asm("" : "+r"(number));
    return number;
}

/// Takes `begin` from the number; whether that leaves less than `bytes`. Each is read in the instruction that uses it: compilers make two
/// of an atomic load and a comparison. Others may write them; either value will do.
CAIRN_INLINE bool is_within(std::uintptr_t &number, const std::uintptr_t &begin,
                            const std::uintptr_t &bytes) {
#if defined(__x86_64__)
    bool below;
    asm("sub %2, %1\n\tcmp %3, %1" : "=@ccb"(below), "+&r"(number) : "m"(begin), "m"(bytes));
    return below;
#else
    number -= __atomic_load_n(&begin, __ATOMIC_RELAXED);
    return number < __atomic_load_n(&bytes, __ATOMIC_RELAXED);
#endif
}

/// Whether `word` is `value`, and whether `number` is below it: as is_within(), in one instruction. `order` is that of a load.
template <class T>
CAIRN_INLINE bool is_now(const std::atomic<T> &word, T value, std::memory_order order) {
#if defined(__x86_64__)
    if constexpr (!sanitized) { // a sanitizer is to see the load
        bool equal;
        asm volatile("cmp %2, %1" : "=@cce"(equal) : "r"(value), "m"(word) : "memory");
        return equal;
    }
#endif
    return word.load(order) == value;
}
template <class T>
CAIRN_INLINE bool is_below(T number, const std::atomic<T> &word) {
#if defined(__x86_64__)
    if constexpr (!sanitized) {
        bool below;
        asm("cmp %2, %1" : "=@ccb"(below) : "r"(number), "m"(word));
        return below;
    }
#endif
    return number < word.load(std::memory_order_relaxed);
}

/// Fetches the line at `p`, any address, to be written: others lose it now, not only when it is written. An x86 that does not
/// know the instruction does nothing.
CAIRN_INLINE void fetch_to_write(const void *p) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char *>(p)));
#else
    __builtin_prefetch(p, 1);
#endif
}

} // namespace cairn::platform
