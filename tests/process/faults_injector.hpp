// SPDX-License-Identifier: MIT
//
// Faults, the injector: the library's own system calls of one kind are counted over all threads, and some of them
// answered with an error. Calls that the program or libc makes are not touched.
#pragma once

#include "works_library_code.hpp"

#include <atomic>

namespace process_test::faults {

/// The calls number `first` to `first + count - 1` fail; number 1 is the first.
struct Plan {
    long call;
    int error;
    unsigned first;
    unsigned count;
};

inline Plan plan;
inline std::atomic<unsigned> seen{0};

inline void on_call(int, siginfo_t *info, void *context) {
    const int saved = errno;
    TrappedCall call(context);
    const unsigned number = ++seen;
    if (number >= plan.first && number - plan.first < plan.count) {
        call.answer(-plan.error);
    } else {
        call.let_through(info->si_syscall);
    }
    errno = saved;
}

/// For the rest of this process and of its children.
inline void inject(const Plan &what) {
    plan = what;
    trap_library_calls(plan.call, on_call);
}

} // namespace process_test::faults

/// The library's helper thread blocks all signals; that of the injector may not be blocked.
extern "C" int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) noexcept {
    sigset_t without;
    if (set != nullptr && how != SIG_UNBLOCK) {
        without = *set;
        sigdelset(&without, SIGSYS);
        set = &without;
    }
    return sigprocmask(how, set, before) == 0 ? 0 : errno;
}
