// SPDX-License-Identifier: MIT
//
// fork in a signal handler that has interrupted fork: the one that interrupts must not wait for what the other holds.
#include "process_test.hpp"

#include <csignal>
#include <sys/time.h>
#include <sys/wait.h>

using namespace process_test;

namespace {

volatile std::sig_atomic_t handled;

void wait_for(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0) {
    }
    CHECK(status == 0);
}

void on_alarm(int) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    wait_for(child);
    handled = handled + 1;
}

} // namespace

int main() {
    free(malloc(10));
    struct sigaction action = {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
    const itimerval often = {{0, 2000}, {0, 2000}};
    CHECK(setitimer(ITIMER_REAL, &often, nullptr) == 0);
    for (int i = 0; i < 500 || handled < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        wait_for(child);
    }
    const itimerval never = {};
    CHECK(setitimer(ITIMER_REAL, &never, nullptr) == 0);
}
