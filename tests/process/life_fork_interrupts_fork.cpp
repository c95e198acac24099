// SPDX-License-Identifier: MIT
//
// fork in a signal handler that has interrupted fork: the one that interrupts must not wait for what the other holds.
// One signal for each fork, some microseconds after its start: with a timer that goes on by itself, a machine where a
// fork takes longer than the time between two signals would do nothing but handle them.
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
    for (int i = 0; i < 500; ++i) {
        const itimerval soon = {{0, 0}, {0, 20 + i % 50 * 10}};
        CHECK(setitimer(ITIMER_REAL, &soon, nullptr) == 0);
        const pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        wait_for(child);
        while (handled <= i) {
            sleep_seconds(0.0001);
        }
    }
}
