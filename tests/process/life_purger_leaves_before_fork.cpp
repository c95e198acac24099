// SPDX-License-Identifier: MIT
//
// A program of one thread that forks has one then: the purger leaves before, whether it sleeps or has little to do.
// What is free later goes back all the same, by the call that frees, or by another purger where memory grows. A program
// that has threads keeps its purger.
#include "life_purger_thread.hpp"

#include <sys/wait.h>

using namespace process_test;

namespace {

Burst burst;
char *touched[50];

/// Whether a purger is there, or will be soon: a thread takes some time to begin, and to end.
bool is_there(bool wanted, double most) {
    const double start = seconds();
    while ((thread_named("cairn-purge") != 0) != wanted && seconds() < start + most) {
        sleep_seconds(0.01);
    }
    return thread_named("cairn-purge") != 0;
}

/// On a busy machine it takes its time.
bool has_purger() {
    return is_there(true, 30);
}

bool is_alone(double most = 0) {
    return !is_there(false, most);
}

/// How long the fork takes, with the wait for the purger's answer.
double fork_once() {
    const double start = seconds();
    const pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        _exit(0);
    }
    const double took = seconds() - start;
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    return took;
}

/// `prepare()` says what the purger does then. It stays where it does not answer within 20 ms, for want of a processor.
template <class F>
void leaves_before_fork(F prepare) {
    constexpr double longest_wait = 0.02;
    constexpr int tries = 20;
    bool left = false;
    for (int i = 0; i < tries && !left; ++i) {
        prepare();
        const bool has_answered = fork_once() < longest_wait;
        left = is_alone(has_answered ? 30 : 1);
        CHECK(left || !has_answered);
    }
    CHECK(left);
}

/// As long as the purger looks for what has become free.
void let_it_sleep() {
    sleep_seconds(1.5);
    CHECK(has_purger());
}

/// It waits for its next tick.
void make_it_work() {
    for (int i = 0; i < 50; ++i) {
        touched[i] = static_cast<char *>(malloc(100000));
        CHECK(touched[i] != nullptr);
        std::memset(touched[i], 1, 100000);
    }
    free_all(touched);
}

void *allocate_and_wait(void *barrier) {
    free(malloc(100));
    pthread_barrier_wait(static_cast<pthread_barrier_t *>(barrier));
    pthread_barrier_wait(static_cast<pthread_barrier_t *>(barrier));
    return nullptr;
}

void check_goes_back() {
    burst.free_all();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB\n", mebibytes(after));
    CHECK(after <= 32 * MiB);
}

} // namespace

int main() {
    burst.grow_to(100 * MiB);
    leaves_before_fork(let_it_sleep);
    check_goes_back();
    CHECK(is_alone()); // free starts none

    burst.grow_to(150 * MiB);
    CHECK(has_purger());
    leaves_before_fork(make_it_work);

    burst.grow_to(200 * MiB);
    CHECK(has_purger());
    check_goes_back();
    let_it_sleep();

    pthread_barrier_t barrier;
    pthread_t thread;
    CHECK(pthread_barrier_init(&barrier, nullptr, 2) == 0);
    CHECK(pthread_create(&thread, nullptr, allocate_and_wait, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    fork_once();
    CHECK(!is_alone(1));
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, nullptr) == 0);
}
