// SPDX-License-Identifier: MIT
//
// Thread id: a number for the calling thread.
//
// Adds:    thread_id().
// Keeps:   it is never 0, stays the same while the thread lives, and no two threads that live have the same one.
//          A later thread may get it again, and often does: its stack is used again.
// Threads: any.
// Cost:    an addition: it is where the thread's own data lie. The low bits are alike in all threads; hash it.
#pragma once

#include <cstdint>

namespace cairn::platform {

inline std::uintptr_t thread_id() {
    static thread_local constinit char place __attribute__((tls_model("initial-exec"))) = 0;
    return reinterpret_cast<std::uintptr_t>(&place);
}

} // namespace cairn::platform
