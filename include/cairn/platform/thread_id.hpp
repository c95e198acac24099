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
    auto id = reinterpret_cast<std::uintptr_t>(&place);
    // From here on a number. g++ 16 makes one relocation of an address and what is added to it, as a hash does, also
    // where that does not fit into 32 bits.
    asm("" : "+r"(id));
    return id;
}

} // namespace cairn::platform
