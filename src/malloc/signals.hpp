// SPDX-License-Identifier: MIT
//
// Signals: blocks all signals in the purger's thread, where no handler of the program may run, and while a thread forks
// or holds what a fork waits for. Signals that the thread's own instructions raise stay unblocked: the kernel ends a
// process that blocks such a signal, and a program that traps system calls by a filter has a handler for SIGSYS.
#pragma once

#include <pthread.h>

#include <csignal>

namespace cairn::process_heap {

/// Blocks signals in the calling thread. Returns the former mask, for let_signals_through().
inline sigset_t hold_back_signals() noexcept {
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    for (const int own : {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
        sigdelset(&others, own);
    }
    pthread_sigmask(SIG_BLOCK, &others, &before);
    return before;
}

inline void let_signals_through(const sigset_t &before) noexcept {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace cairn::process_heap
