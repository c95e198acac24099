// SPDX-License-Identifier: MIT
//
// stderr is a pipe that does not block, and is full: the line about a mistake waits until there is room. If nobody
// makes room, the program ends without it.
#include "full_pipe.hpp"

#include <csignal>
#include <sys/wait.h>

using namespace process_test;

namespace {

/// What a child that frees a block twice has written when the pipe is read after `pause` seconds; 0: when the child has
/// ended.
const char *run(FullPipe &full, double pause) {
    const pid_t child = fork();
    if (child == 0) {
        CHECK(dup2(full.writing_end(), 2) == 2);
        full.close_writing_end();
        void *const p = malloc(60);
        free(p);
        free(opaque(p));
        _exit(0);
    }
    CHECK(child > 0);
    full.close_writing_end();
    sleep_seconds(pause);
    int status = 0;
    if (pause == 0) {
        CHECK(waitpid(child, &status, 0) == child);
    }
    const char *const text = full.read_rest();
    CHECK(pause == 0 || waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return text;
}

} // namespace

int main() {
    FullPipe first;
    CHECK(std::strncmp(run(first, 0.1), "cairn: double free: ", 20) == 0);
    FullPipe second;
    CHECK(std::strcmp(run(second, 0), "") == 0);
}
