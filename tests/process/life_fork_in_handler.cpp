// SPDX-License-Identifier: MIT
//
// fork and _Fork from a signal handler that has interrupted malloc and free. A child that only does what a handler may
// do ends; that of a process with one thread may return from the handler, and goes on where its parent was, also if the
// library had a helper thread. And _Fork outside of handlers: the child of the only thread allocates. The parents never
// notice.
#include "process_test.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>

using namespace process_test;

namespace {

enum class Child { ends, returns };
volatile std::sig_atomic_t forks;
volatile std::sig_atomic_t is_child;
Child child_does;
pid_t (*make_child)();
std::atomic<bool> stop;
timer_t timer;
volatile std::sig_atomic_t ticking;

void on_signal(int) {
    const int saved = errno;
    const pid_t child = is_child != 0 ? -1 : make_child();
    if (child == 0) {
        is_child = 1;
        alarm(hang_limit);
        if (child_does == Child::ends) {
            _exit(0);
        }
    } else if (child > 0) {
        int status = 0;
        if (child_does == Child::ends) {
            while (waitpid(child, &status, 0) != child) {
            }
        }
        if (status != 0) {
            failed(__FILE__, __LINE__, "the child in the handler ends with 0");
        }
        forks = forks + 1;
    }
    ticking = 0;
    errno = saved;
}

/// A signal in some microseconds, one at a time: a fork may take longer than the time between two.
void tick(Random &random) {
    if (ticking == 0 && is_child == 0) {
        ticking = 1;
        const itimerspec soon{{0, 0}, {0, static_cast<long>(1000 + random.below(200000))}};
        CHECK(timer_settime(timer, 0, &soon, nullptr) == 0);
    }
}

struct Block {
    unsigned char *p = nullptr;
    std::size_t size = 0;
    unsigned char value = 0;
};

/// Until there were `wanted` forks, or, in a child, for some rounds more.
void work(unsigned seed, int wanted, bool forking) {
    constexpr unsigned count = 150;
    static thread_local Block blocks[count];
    Random random(seed);
    for (int rounds_of_child = 0; forks < wanted && !stop && rounds_of_child < 3000;
         rounds_of_child += is_child) {
        if (forking) {
            tick(random);
        }
        Block &block = blocks[random.below(count)];
        CHECK(block.p == nullptr || (block.p[0] == block.value && block.p[block.size - 1] == block.value));
        free(block.p);
        const std::size_t kind = random.below(100);
        // So little that the purger is not started: with it the process would have a second thread.
        block.size = 1 + random.below(kind < 90 ? 1000 : kind < 98 ? 12 * KiB : 160 * KiB);
        block.p = static_cast<unsigned char *>(malloc(block.size));
        CHECK(block.p != nullptr);
        block.value = static_cast<unsigned char>(random.below(256));
        block.p[0] = block.p[block.size - 1] = block.value;
    }
    for (Block &block : blocks) {
        free(block.p);
        block = {};
    }
}

void with_signals(int wanted) {
    forks = 0;
    work(1, wanted, true);
    if (is_child != 0) {
        _exit(0);
    }
    while (ticking != 0) { // the last one may still be on its way
        sleep_seconds(0.0001);
    }
    for (int status = 0; waitpid(-1, &status, 0) > 0;) {
        CHECK(status == 0);
    }
}

void among_threads(int wanted) {
    stop = false;
    struct Other {
        pthread_t id;
        static void *run(void *) {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, nullptr);
            work(3, 1 << 30, false);
            return nullptr;
        }
    } other{};
    CHECK(pthread_create(&other.id, nullptr, Other::run, nullptr) == 0);
    with_signals(wanted);
    stop = true;
    CHECK(pthread_join(other.id, nullptr) == 0);
    stop = false;
}

} // namespace

int main(int argc, char **) {
    alarm(hang_limit);
    const int wanted = argc > 1 ? 1500 : 60;
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    for (auto *const way : {fork, _Fork}) {
        make_child = way;
        child_does = Child::ends;
        with_signals(wanted);
        child_does = Child::returns;
        with_signals(wanted);
        child_does = Child::ends;
        among_threads(wanted);
    }
    const pid_t child = _Fork();
    if (child == 0) {
        is_child = 1;
        work(4, 1 << 30, false);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    // So much that there is a purger, which leaves before the first fork. The process has one thread again.
    for (std::size_t bytes = 0; bytes < 64 * MiB; bytes += 200 * KiB) {
        void *const block = malloc(200 * KiB);
        CHECK(block != nullptr);
        std::memset(block, 1, 200 * KiB);
    }
    make_child = fork;
    child_does = Child::returns;
    with_signals(wanted);
    dprintf(1, "7 times %d forks from a handler\n", wanted);
}
