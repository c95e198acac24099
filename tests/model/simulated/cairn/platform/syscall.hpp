// SPDX-License-Identifier: MIT
//
// In place of platform/syscall.hpp under the model checker: the kernel is system.cpp, which knows what membarrier and
// futex do to the threads of a model.
#pragma once

#include <sys/syscall.h>

#include <cstddef>

extern "C" long cairn_model_syscall(long number, long a, long b, long c, long d, long e, long f);

namespace cairn::platform {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    return cairn_model_syscall(number, a, b, c, d, e, f);
}

inline bool failed(long result) {
    return result < 0 && result >= -4095;
}

} // namespace cairn::platform
