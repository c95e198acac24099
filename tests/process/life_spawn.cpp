// SPDX-License-Identifier: MIT
//
// posix_spawn, vfork with exec, and popen, while another thread allocates: the programs run, the heap stays.
#include "process_test.hpp"

#include <atomic>
#include <spawn.h>
#include <sys/wait.h>

using namespace process_test;

int main() {
    alarm(hang_limit);
    static std::atomic<bool> stop;
    in_threads(2, [](unsigned i) {
        if (i == 0) {
            while (!stop) {
                free(malloc(300));
                free(malloc(70000));
            }
            return;
        }
        char name[] = "/bin/true";
        char *arguments[] = {name, nullptr};
        for (int n = 0; n < 40; ++n) {
            pid_t id = 0;
            int status = 0;
            CHECK(posix_spawn(&id, name, nullptr, nullptr, arguments, environ) == 0);
            CHECK(waitpid(id, &status, 0) == id && status == 0);
            id = vfork();
            if (id == 0) {
                execv(name, arguments);
                _exit(127);
            }
            CHECK(waitpid(id, &status, 0) == id && status == 0);
        }
        FILE *const pipe = popen("echo cairn", "r");
        char line[16] = {};
        CHECK(pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr &&
              std::strcmp(line, "cairn\n") == 0);
        CHECK(pclose(pipe) == 0);
        stop = true;
    });
}
