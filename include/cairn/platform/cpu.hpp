// SPDX-License-Identifier: MIT
//
// CPU: a hint for spin loops, a prefetch for writing, comparisons with memory operands, and the cycle counter.
//
// Threads: any.
// Cost:    an instruction or two; ticks_in_order() waits until all earlier instructions are done.
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

/// The processor's counter, which counts at one constant rate on all processors.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#endif
}

/// The processor's counter, read after all earlier instructions are done and before any later one begins: for timing a
/// few instructions.
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

/// Returns `number`, and hides from the compiler how it was computed: so the compiler does not turn `x / 2^n <
/// constant` into a comparison of x with a constant that is too long for an immediate operand.
CAIRN_INLINE std::uintptr_t computed(std::uintptr_t number) {
    asm("" : "+r"(number));
    return number;
}

/// A relaxed load of a word that other threads may write. For an atomic load g++ computes the address with an
/// instruction of its own; for a volatile one the load does it.
CAIRN_INLINE std::uintptr_t load_relaxed(const std::uintptr_t &word) {
    if constexpr (sanitized) {
        return __atomic_load_n(&word, __ATOMIC_RELAXED);
    }
    return *const_cast<const volatile std::uintptr_t *>(&word);
}

/// Subtracts `begin` from `number` and returns whether the difference is less than `bytes`. On x86-64 both are memory
/// operands of the instructions that use them; from an atomic load and a comparison compilers make two instructions.
/// Other threads may write `begin` and `bytes` meanwhile; the caller can use either value.
CAIRN_INLINE bool is_within(std::uintptr_t &number, const std::uintptr_t &begin,
                            const std::uintptr_t &bytes) {
#if defined(__x86_64__)
    bool below;
    asm("sub %2, %1\n\tcmp %3, %1" : "=@ccb"(below), "+&r"(number) : "m"(begin), "m"(bytes));
    return below;
#else
    number -= load_relaxed(begin);
    return number < load_relaxed(bytes);
#endif
}

/// is_now(): whether `word` holds `value`, with the memory order of a load. is_below(): whether `number` is less than
/// `word`, relaxed. On x86-64 the word is a memory operand of the comparison: one instruction, where compilers make two
/// of an atomic load and a comparison.
///
/// With pointers `next`, what is_now() orders is what the caller reads through them, and nothing else. aarch64 keeps
/// the order of a load and of the loads whose addresses were computed from its result, so the pointers are computed
/// from it: docs/decisions/address-dependencies.md.
template <class T, class... U>
CAIRN_INLINE bool is_now(const std::atomic<T> &word, T value, std::memory_order order,
                         [[maybe_unused]] U *&...next) {
#if defined(__x86_64__)
    if constexpr (!sanitized) { // a sanitizer has to see the load
        bool equal;
        asm volatile("cmp %2, %1" : "=@cce"(equal) : "r"(value), "m"(word) : "memory");
        return equal;
    }
#elif defined(__aarch64__)
    if constexpr (!sanitized && sizeof...(next) != 0) {
        static_assert(sizeof(T) == sizeof(std::uint64_t));
        T found;
        std::uint64_t zero;
        asm volatile("ldr %0, %2\n\teor %1, %0, %0" : "=&r"(found), "=r"(zero) : "m"(word) : "memory");
        ((next = reinterpret_cast<U *>(reinterpret_cast<std::uintptr_t>(next) + zero)), ...);
        return found == value;
    }
#endif
    return word.load(order) == value;
}
/// Loads an address. The load orders what the caller reads through the address, and nothing else: as is_now() with
/// pointers.
template <class T>
CAIRN_INLINE T *load_address(T *&word, std::memory_order order) {
#if defined(__aarch64__)
    order = sanitized ? order : std::memory_order_relaxed;
#endif
    return std::atomic_ref(word).load(order);
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

/// Prefetches the cache line at `p`, any address, for writing: other processors give the line up now, and not only when
/// it is written. An x86 processor without the instruction ignores it.
CAIRN_INLINE void fetch_to_write(const void *p) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char *>(p)));
#else
    __builtin_prefetch(p, 1);
#endif
}

} // namespace cairn::platform
