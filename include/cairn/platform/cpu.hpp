// SPDX-License-Identifier: MIT
//
// CPU: a hint for spin loops.
#pragma once

namespace cairn::platform {

inline void cpu_relax() {
#if defined(__x86_64__)
    asm volatile("pause");
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace cairn::platform
