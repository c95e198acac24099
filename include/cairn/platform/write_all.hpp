// SPDX-License-Identifier: MIT
//
// Write all: writes a text to a descriptor, in one system call where the kernel takes it so. Goes on after a signal,
// and waits where the descriptor does not block and has no room.
//
// Errors:  the number of the error, 0 for none. EAGAIN: there was no room for two seconds.
// Threads: any.
// Cost:    while it waits, two system calls a millisecond.
#pragma once

#include <cairn/platform/futex.hpp>
#include <cairn/platform/syscall.hpp>

#include <cerrno>
#include <cstddef>

namespace cairn::platform {

inline int write_all(long descriptor, const char *text, std::size_t length) noexcept {
    constexpr int longest_wait_ms = 2000;
    std::atomic<std::uint32_t> never{0};
    for (int waited = 0; length > 0;) {
        const long n =
            raw_syscall(SYS_write, descriptor, reinterpret_cast<long>(text), static_cast<long>(length));
        if (n > 0) {
            text += n;
            length -= static_cast<std::size_t>(n);
            waited = 0;
        } else if (n == -EAGAIN && waited < longest_wait_ms) {
            futex_wait(never, 0, 1);
            ++waited;
        } else if (n != -EINTR) {
            return n < 0 ? static_cast<int>(-n) : EIO;
        }
    }
    return 0;
}

} // namespace cairn::platform
