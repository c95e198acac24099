// SPDX-License-Identifier: MIT
//
// A signal handler that calls unshare may have interrupted malloc or free: it waits for the purger, and uses nothing of
// the heap. The kernel refuses the call, for another reason.
#include "life_purger_thread.hpp"

#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>

using namespace process_test;

namespace {

Burst burst;
char *blocks[1000];
volatile std::sig_atomic_t handled = 0;

void on_alarm(int) {
    const int saved = errno;
    handled = unshare(CLONE_SIGHAND | 1) == -1 && errno == EINVAL ? 1 : 2;
    errno = saved;
}

/// Until some time after the signal.
void use_the_heap() {
    unsigned random = 1;
    for (int after = 0; after < 100000; after += handled != 0) {
        random = random * 1103515245 + 12345;
        char *&p = blocks[(random >> 8) % 1000];
        free(p);
        p = static_cast<char *>(malloc((random >> 3) % 200000));
        CHECK(p != nullptr);
    }
    CHECK(handled == 1);
}

} // namespace

int main() {
    for (int round = 0; round < 12; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            burst.grow_to(40 * MiB);
            std::signal(SIGALRM, on_alarm);
            const itimerval once{{0, 0}, {0, 20000 + 1000 * round}};
            CHECK(setitimer(ITIMER_REAL, &once, nullptr) == 0);
            use_the_heap();
            _exit(0);
        }
        int status = -1;
        CHECK(child > 0);
        const double most = seconds() + hang_limit;
        while (waitpid(child, &status, WNOHANG) == 0 && seconds() < most) {
            sleep_seconds(0.01);
        }
        kill(child, SIGKILL);
        CHECK(status == 0);
    }
}
