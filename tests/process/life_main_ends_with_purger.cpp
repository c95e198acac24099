// SPDX-License-Identifier: MIT
//
// main ends by pthread_exit, as the last thread or before others, in a process that was large enough for the purger's
// thread: that one does not keep the process.
#include "process_test.hpp"

#include <sys/wait.h>

using namespace process_test;

namespace {

constexpr int at_exit = 7;

void *go_on(void *) {
    sleep_seconds(0.2);
    return nullptr;
}

void end_main(bool others_go_on) {
    alarm(hang_limit);
    std::atexit([] { _exit(at_exit); }); // exit is called
    void *const large = malloc(40 * MiB);
    std::memset(large, 1, 40 * MiB);
    for (int i = 0; i < 100; ++i) { // until the purger is there
        char *const p = static_cast<char *>(malloc(300 * KiB));
        std::memset(p, 1, 300 * KiB);
    }
    if (others_go_on) {
        pthread_t thread;
        CHECK(pthread_create(&thread, nullptr, go_on, nullptr) == 0);
        pthread_detach(thread);
    }
    pthread_exit(nullptr);
}

} // namespace

int main() {
    for (const bool others_go_on : {false, true}) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            end_main(others_go_on);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == at_exit);
    }
}
