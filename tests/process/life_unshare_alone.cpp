// SPDX-License-Identifier: MIT
//
// A program of one thread may enter user namespaces, which the kernel allows to no other: the purger leaves, with
// little to do or with much, and another one comes when memory grows. What is refused for another reason is refused.
#include "life_purger_thread.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace process_test;

namespace {

Burst burst;

void wait_for_purger() {
    for (int i = 0; thread_named("cairn-purge") == 0 && i < 100; ++i) {
        sleep_seconds(0.01);
    }
    CHECK(thread_named("cairn-purge") != 0);
}

int status_of(pid_t child) {
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/// The kernel of this machine, or the sandbox, allows it to a program without a purger.
bool may_unshare() {
    const pid_t child = fork();
    if (child == 0) {
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 77);
    }
    return status_of(child) == 0;
}

/// Of a child that has a user namespace of its own, and waits until `done` is closed.
int namespace_of_a_child(int &done) {
    int ready[2];
    int end[2];
    CHECK(pipe(ready) == 0 && pipe(end) == 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        close(end[1]);
        const bool may = unshare(CLONE_NEWUSER) == 0 && write(ready[1], &byte, 1) == 1;
        _exit(may && read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    char byte = 0;
    CHECK(child > 0 && read(ready[0], &byte, 1) == 1);
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/ns/user", child);
    close(end[0]);
    done = end[1];
    return open(path, O_RDONLY | O_CLOEXEC);
}

/// Neither of the two is a cancellation point, also where it waits for the purger: the child ends by its own call.
void refuse_with_a_cancellation_pending() {
    burst.grow_to(150 * MiB);
    wait_for_purger();
    pthread_cancel(pthread_self());
    const bool refused = unshare(CLONE_SIGHAND | CLONE_NEWIPC | 1) == -1 && errno == EINVAL;
    _exit(refused ? 77 : 1);
}

void enter_that_of_another() {
    int done = -1;
    const int other = namespace_of_a_child(done);
    CHECK(other >= 0);
    burst.grow_to(150 * MiB);
    wait_for_purger();
    CHECK(setns(other, CLONE_NEWUSER) == 0);
    CHECK(thread_named("cairn-purge") == 0);
    close(done);
    CHECK(wait(nullptr) > 0);
}

/// The purger leaves before the fork, and is slow to be gone: other threads come first at the only processor that it
/// may use.
void enter_just_after_a_fork() {
    burst.grow_to(130 * MiB);
    wait_for_purger();
    sleep_seconds(0.02);
    const pid_t purger = thread_named("cairn-purge");
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(sched_setaffinity(purger, sizeof one, &one) == 0);
    CHECK(setpriority(PRIO_PROCESS, static_cast<id_t>(purger), 19) == 0);
    const pid_t child = fork();
    while (child == 0) {
        opaque(0);
    }
    const bool entered = unshare(CLONE_NEWUSER) == 0;
    CHECK(kill(child, SIGKILL) == 0 && status_of(child) == SIGKILL);
    CHECK(entered);
}

/// The kernel answers with another error here. Nothing is tried where it has no such namespaces.
void enter_a_time_namespace() {
    constexpr int new_time = 0x80;
    CHECK(unshare(CLONE_NEWUSER) == 0);
    const int of_children = unshare(new_time) == 0 ? open("/proc/self/ns/time_for_children", O_RDONLY) : -1;
    if (of_children >= 0) {
        burst.grow_to(200 * MiB);
        wait_for_purger();
        CHECK(setns(of_children, new_time) == 0);
    }
}

} // namespace

int main() {
    if (!may_unshare()) {
        return 77;
    }
    burst.grow_to(100 * MiB);
    wait_for_purger();
    CHECK(unshare(CLONE_SIGHAND | CLONE_NEWIPC | 1) == -1 && errno == EINVAL); // no such flag

    const pid_t canceled = fork();
    if (canceled == 0) {
        refuse_with_a_cancellation_pending();
    }
    const int status = status_of(canceled);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 77);

    const pid_t child = fork();
    if (child == 0) {
        enter_that_of_another();
        _exit(0);
    }
    CHECK(status_of(child) == 0);

    const pid_t later = fork();
    if (later == 0) {
        enter_a_time_namespace();
        _exit(0);
    }
    CHECK(status_of(later) == 0);

    for (int round = 0; round < 30; ++round) {
        const pid_t forks = fork();
        if (forks == 0) {
            enter_just_after_a_fork();
            _exit(0);
        }
        CHECK(status_of(forks) == 0);
    }

    burst.grow_to(250 * MiB);
    wait_for_purger();
    burst.free_all(); // much to do
    CHECK(unshare(CLONE_NEWUSER) == 0);
    CHECK(thread_named("cairn-purge") == 0);
    CHECK(bytes_after_a_second(resident, 32 * MiB) <= 32 * MiB);
}
