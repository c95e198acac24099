// SPDX-License-Identifier: MIT
//
// Quiet writes: while an object of this class exists, a write to a pipe without a reader, or beyond `ulimit -f`, only
// returns an error: it does not kill the program with SIGPIPE or SIGXFSZ.
//
// Threads: applies to the writes of the thread that made the object.
// Cost:    four system calls.
#pragma once

#include <cairn/platform/syscall.hpp>

#include <csignal>
#include <ctime>

namespace cairn::platform {

class QuietWrites {
public:
    QuietWrites() noexcept {
        mask(SIG_BLOCK, &both, &before_);
        waiting_ = waiting();
    }
    ~QuietWrites() {
        // Signals that the writes have raised are discarded; those that were pending before stay pending.
        const Set brought = waiting() & both & ~waiting_;
        const timespec at_once{0, 0};
        if (brought != 0) {
            while (raw_syscall(SYS_rt_sigtimedwait, address(&brought), 0, address(&at_once), bytes) > 0) {
            }
        }
        mask(SIG_SETMASK, &before_, nullptr);
    }
    QuietWrites(const QuietWrites &) = delete;
    QuietWrites &operator=(const QuietWrites &) = delete;

private:
    using Set = unsigned long; // the kernel's signal set; the C library's is longer
    static constexpr long bytes = sizeof(Set);
    static constexpr Set both = Set{1} << (SIGPIPE - 1) | Set{1} << (SIGXFSZ - 1);

    static long address(const void *p) noexcept { return reinterpret_cast<long>(p); }
    static void mask(int how, const Set *set, Set *old) noexcept {
        raw_syscall(SYS_rt_sigprocmask, how, address(set), address(old), bytes);
    }
    static Set waiting() noexcept {
        Set set = 0;
        raw_syscall(SYS_rt_sigpending, address(&set), bytes);
        return set;
    }

    Set before_ = 0;
    Set waiting_ = 0;
};

} // namespace cairn::platform
