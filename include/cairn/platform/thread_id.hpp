// SPDX-License-Identifier: MIT
//
// Thread id: a number for the calling thread.
//
// Adds:    thread_id().
// Keeps:   the number is never 0, does not change while the thread lives, and differs from that of every other living
//          thread. A later thread often gets the number of an earlier one, because its stack is reused.
// Threads: any.
// Cost:    an addition: the number is the address of a thread-local variable. Its low bits are equal in all threads;
//          hash it.
#pragma once

#include <cstdint>

namespace cairn::platform {

inline std::uintptr_t thread_id() {
    static thread_local constinit char place __attribute__((tls_model("initial-exec"))) = 0;
    return reinterpret_cast<std::uintptr_t>(&place);
}

} // namespace cairn::platform
