// SPDX-License-Identifier: MIT
//
// stderr is a pipe that does not block, and is full: the line about a mistake waits until there is room. If nobody
// makes room, the program ends without it.
#include "process_test.hpp"

#include <csignal>
#include <sys/wait.h>

using namespace process_test;

namespace {

char text[64 * KiB];

/// What a child that frees a block twice has written when the pipe is read after `pause` seconds.
void run(double pause) {
    int ends[2];
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], text, 1) > 0) {
    }
    const pid_t child = fork();
    if (child == 0) {
        CHECK(dup2(ends[1], 2) == 2);
        void *const p = malloc(60);
        free(p);
        free(opaque(p));
        _exit(0);
    }
    CHECK(child > 0 && close(ends[1]) == 0);
    sleep_seconds(pause);
    int status = 0;
    if (pause == 0) {
        CHECK(waitpid(child, &status, 0) == child);
    }
    ssize_t last = 0;
    for (ssize_t n = 0; (n = read(ends[0], text, sizeof text - 1)) > 0;) {
        last = n;
    }
    text[last] = 0;
    CHECK(pause == 0 || waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(ends[0]);
}

} // namespace

int main() {
    run(0.1);
    CHECK(std::strncmp(text, "cairn: double free: ", 20) == 0);
    std::memset(text, 0, sizeof text);
    run(0);
}
