// SPDX-License-Identifier: MIT
//
// The calls that clang's -fsanitize=thread makes of a program's accesses to memory: functions whose names begin with
// __tsan_, in place of those of the sanitizer's library. What an access does says who includes this file, in one source
// of the program, after a struct of these functions in the global namespace; `place` is where the code is that called.
//
//   struct Accesses {
//       static void plain(const void *place, const volatile void *p, std::size_t size, bool write);
//       static void fence(const void *place, int order);
//       T load(const void *place, const volatile T *p, int order);                  // these: static, templates of T
//       void store(const void *place, volatile T *p, T value, int order);
//       T update(const void *place, volatile T *p, int order, F f);                 // *p = f(*p)
//       bool exchange_if(const void *place, volatile T *p, T *expected, T desired, int order, int failure);
//   };
#pragma once

#include <cstddef>
#include <cstring>

#define CAIRN_PLACE __builtin_return_address(0)

// The names and types are those that the compiler calls.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int order) {
    Accesses::fence(CAIRN_PLACE, order);
}
void __tsan_atomic_signal_fence(int) {}

#define CAIRN_ACCESS(bytes)                                                                                  \
    void __tsan_read##bytes(void *p) {                                                                       \
        Accesses::plain(CAIRN_PLACE, p, bytes, false);                                                       \
    }                                                                                                        \
    void __tsan_write##bytes(void *p) {                                                                      \
        Accesses::plain(CAIRN_PLACE, p, bytes, true);                                                        \
    }                                                                                                        \
    void __tsan_unaligned_read##bytes(void *p) {                                                             \
        Accesses::plain(CAIRN_PLACE, p, bytes, false);                                                       \
    }                                                                                                        \
    void __tsan_unaligned_write##bytes(void *p) {                                                            \
        Accesses::plain(CAIRN_PLACE, p, bytes, true);                                                        \
    }                                                                                                        \
    void __tsan_read_write##bytes(void *p) {                                                                 \
        Accesses::plain(CAIRN_PLACE, p, bytes, true);                                                        \
    }                                                                                                        \
    void __tsan_unaligned_read_write##bytes(void *p) {                                                       \
        Accesses::plain(CAIRN_PLACE, p, bytes, true);                                                        \
    }
CAIRN_ACCESS(1)
CAIRN_ACCESS(2)
CAIRN_ACCESS(4)
CAIRN_ACCESS(8)
CAIRN_ACCESS(16)
#undef CAIRN_ACCESS

void __tsan_read_range(void *p, unsigned long size) {
    Accesses::plain(CAIRN_PLACE, p, size, false);
}
void __tsan_write_range(void *p, unsigned long size) {
    Accesses::plain(CAIRN_PLACE, p, size, true);
}
void __tsan_vptr_update(void **p, void *) {
    Accesses::plain(CAIRN_PLACE, p, sizeof(void *), true);
}
void __tsan_vptr_read(void **p) {
    Accesses::plain(CAIRN_PLACE, p, sizeof(void *), false);
}

void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
    Accesses::plain(CAIRN_PLACE, from, size, false);
    Accesses::plain(CAIRN_PLACE, to, size, true);
    return std::memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, unsigned long size) {
    Accesses::plain(CAIRN_PLACE, from, size, false);
    Accesses::plain(CAIRN_PLACE, to, size, true);
    return std::memmove(to, from, size);
}
void *__tsan_memset(void *to, int byte, unsigned long size) {
    Accesses::plain(CAIRN_PLACE, to, size, true);
    return std::memset(to, byte, size);
}

#define CAIRN_UPDATE(bits, T, name, expression)                                                              \
    T __tsan_atomic##bits##_##name(volatile T *p, T v, int order) {                                          \
        return Accesses::update(CAIRN_PLACE, p, order,                                                       \
                                [v]([[maybe_unused]] T old) { return static_cast<T>(expression); });         \
    }
#define CAIRN_ATOMIC(bits, T)                                                                                \
    T __tsan_atomic##bits##_load(const volatile T *p, int order) {                                           \
        return Accesses::load(CAIRN_PLACE, p, order);                                                        \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int order) {                                        \
        Accesses::store(CAIRN_PLACE, p, v, order);                                                           \
    }                                                                                                        \
    CAIRN_UPDATE(bits, T, exchange, v)                                                                       \
    CAIRN_UPDATE(bits, T, fetch_add, old + v)                                                                \
    CAIRN_UPDATE(bits, T, fetch_sub, old - v)                                                                \
    CAIRN_UPDATE(bits, T, fetch_and, old &v)                                                                 \
    CAIRN_UPDATE(bits, T, fetch_or, old | v)                                                                 \
    CAIRN_UPDATE(bits, T, fetch_xor, old ^ v)                                                                \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int order, int failure) {   \
        Accesses::exchange_if(CAIRN_PLACE, p, &expected, v, order, failure);                                 \
        return expected;                                                                                     \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v, int order,            \
                                                      int failure) {                                         \
        return Accesses::exchange_if(CAIRN_PLACE, p, expected, v, order, failure);                           \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v, int order,              \
                                                    int failure) {                                           \
        return Accesses::exchange_if(CAIRN_PLACE, p, expected, v, order, failure);                           \
    }
__extension__ typedef unsigned __int128 CairnWide;
CAIRN_ATOMIC(8, unsigned char)
CAIRN_ATOMIC(16, unsigned short)
CAIRN_ATOMIC(32, unsigned int)
CAIRN_ATOMIC(64, unsigned long)
CAIRN_ATOMIC(128, CairnWide)
#undef CAIRN_ATOMIC
#undef CAIRN_UPDATE

} // extern "C"
#undef CAIRN_PLACE
