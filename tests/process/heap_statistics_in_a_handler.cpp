// SPDX-License-Identifier: MIT
//
// First-class heaps: fork in a signal handler that has interrupted a call for statistics must not wait for what that
// call holds. With many heaps most of such a call is spent on them.
// link: so
#include "process_statistics.hpp"

#include <csignal>
#include <sys/time.h>
#include <sys/wait.h>

using namespace process_test;

namespace {

volatile std::sig_atomic_t handled;

void on_alarm(int) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0) {
    }
    CHECK(status == 0);
    handled = handled + 1;
}

} // namespace

int main() {
    for (int i = 0; i < 1000; ++i) {
        CHECK(cairn_heap_alloc(cairn_heap_create(), 100) != nullptr);
    }
    CHECK(signal(SIGVTALRM, on_alarm) != SIG_ERR);
    for (int i = 0; i < 50; ++i) {
        const itimerval soon = {{0, 0}, {0, 1 + i % 10 * 100}}; // of this process's own time
        CHECK(setitimer(ITIMER_VIRTUAL, &soon, nullptr) == 0);
        while (handled <= i) {
            statistics();
        }
    }
}
