// SPDX-License-Identifier: MIT
//
// Signals that are held back: the program's handlers are not for the purger's thread, nor for the middle of a fork. But for those that a
// thread's own instructions raise: who traps system calls by a filter answers SIGSYS in a handler, and the kernel ends a
// process that holds such a signal back.
#pragma once

#include <pthread.h>

#include <csignal>

namespace cairn::process_heap {

/// What the thread held back before is for let_signals_through.
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
