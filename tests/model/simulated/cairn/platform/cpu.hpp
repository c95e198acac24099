// SPDX-License-Identifier: MIT
//
// In place of platform/cpu.hpp under the model checker: who spins waits until what it looked at last has changed.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" void cairn_model_relax();

namespace cairn::platform {

inline void cpu_relax() {
    cairn_model_relax();
}
inline std::uint64_t ticks() {
    return 0;
}
inline std::uint64_t ticks_in_order() {
    return 0;
}

inline std::uintptr_t computed(std::uintptr_t number) {
    return number;
}

inline bool is_within(std::uintptr_t &number, const std::uintptr_t &begin, const std::uintptr_t &bytes) {
    number -= __atomic_load_n(&begin, __ATOMIC_RELAXED);
    return number < __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}
/// Its caller's operation (mutants.py).
template <class T, class... U>
[[gnu::always_inline]] inline bool is_now(const std::atomic<T> &word, T value, std::memory_order order,
                                          U *&...) {
    return word.load(order) == value;
}
template <class T>
[[gnu::always_inline]] inline T *load_address(T *&word, std::memory_order order) {
    return std::atomic_ref(word).load(order);
}
template <class T>
bool is_below(T number, const std::atomic<T> &word) {
    return number < word.load(std::memory_order_relaxed);
}

/// No access in the memory model.
inline void fetch_to_write(const void *) {}

} // namespace cairn::platform
