// SPDX-License-Identifier: MIT
//
// A sandbox that traps system calls and answers them in a handler of SIGSYS: what this malloc calls in the purger's
// thread is answered as well, and so is what libc calls in the middle of a fork. The kernel ends a process that holds
// such a signal back.
#include "life_purger_thread.hpp"
#include "works_filter.hpp"

#include <ucontext.h>

#include <csignal>

using namespace process_test;

namespace {

volatile sig_atomic_t answered[2]; // by this thread, by others

void answer(int, siginfo_t *, void *context) {
    auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    registers.gregs[REG_RAX] = -ENOSYS;
#else
    registers.regs[0] = static_cast<unsigned long long>(-ENOSYS);
#endif
    answered[syscall(SYS_gettid) == getpid() ? 0 : 1] = 1;
}

void trap(std::initializer_list<long> numbers) {
    Filter filter;
    for (const long number : numbers) {
        filter.only_if_number(number, 1);
        filter.add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    }
    filter.install();
}

Burst burst;

/// As glibc's does from 2.41 on, in the part of fork that is below this malloc's.
bool libc_holds_it_back() {
    const pid_t child = _Fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

} // namespace

int main() {
    struct sigaction action{};
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSYS, &action, nullptr) == 0);
    trap({SYS_membarrier});
    in_threads(2, [](unsigned) {
        void *blocks[100];
        for (void *&block : blocks) {
            block = malloc(1000);
        }
        free_all(blocks);
    });
    burst.grow_to(200 * MiB);
    burst.free_all();
    for (int i = 0; i < 250 && answered[1] == 0; ++i) {
        sleep_seconds(0.02);
    }
    CHECK(answered[1] != 0); // the purger's

    trap({SYS_set_robust_list}); // of a child; threads are made with all signals held back
    if (libc_holds_it_back()) {
        return 0;
    }
    answered[0] = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        free(malloc(100));
        _exit(answered[0] != 0 ? 0 : 2);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) &&
          (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2)); // 2: a libc that calls no such thing
}
