// SPDX-License-Identifier: MIT
//
// System calls without the C library: free() must leave errno alone, a program may replace mmap() by a function that
// calls malloc(), and the allocator runs before the C library is initialised.
//
// Errors:  a result in [-4095, -1] is a negated errno.
// Threads: any.
// Cost:    the system call.
#pragma once

#include <sys/syscall.h>

namespace cairn::platform {

#if defined(__x86_64__)

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#endif

inline bool failed(long result) {
    return result < 0 && result >= -4095;
}

} // namespace cairn::platform
