// SPDX-License-Identifier: MIT
//
// The child of a fork has its parent's number, as the first process of a PID namespace has that forks the first one of
// another: it uses the heap as any child does. Other threads of the parent allocate and free each other's blocks
// meanwhile.
#include "process_test.hpp"

#include <atomic>
#include <csignal>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

using namespace process_test;

static std::atomic<void *> shared[400];

static void work(unsigned seed) {
    for (Random random(seed);;) {
        free(shared[random.below(400)].exchange(malloc(8 + random.below(60))));
    }
}

/// Runs `f(argument)` in a child; 0 if that ended with 0.
template <class F>
static int status_of_child(F f) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(hang_limit);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(f());
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int use_heap() {
    CHECK(getpid() == 1);
    for (std::atomic<void *> &p : shared) {
        free(p.exchange(nullptr));
    }
    return malloc(100) != nullptr ? 0 : 1;
}

static int fork_among_threads() {
    CHECK(getpid() == 1);
    for (unsigned i = 0; i < 8; ++i) {
        pthread_t thread;
        CHECK(pthread_create(
                  &thread, nullptr,
                  [](void *seed) -> void * {
                      work(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(seed)));
                      return nullptr;
                  },
                  reinterpret_cast<void *>(std::uintptr_t{i})) == 0);
    }
    sleep_seconds(0.01);
    return unshare(CLONE_NEWPID) == 0 ? status_of_child(use_heap) : 77;
}

int main() {
    // A signal that has no handler does not end the first process of a namespace.
    signal(SIGALRM, [](int) { _exit(2); });
    alarm(hang_limit);
    const double end = seconds() + 1;
    for (int n = 0; n < 30 && seconds() < end; ++n) {
        const int result = status_of_child([] {
            const bool may = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
            return may ? status_of_child(fork_among_threads) : 77;
        });
        if (result == 77) {
            return 77;
        }
        CHECK(result == 0);
    }
}
