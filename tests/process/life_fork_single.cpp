// SPDX-License-Identifier: MIT
//
// Fork from the only thread, children of children: each sees what its parent had, and changes only its own.
#include "process_test.hpp"

#include <sys/wait.h>

using namespace process_test;

int main() {
    alarm(hang_limit);
    constexpr int count = 1000;
    static char *blocks[count];
    for (int i = 0; i < count; ++i) {
        blocks[i] = static_cast<char *>(malloc(static_cast<std::size_t>(16 + i * 50)));
        std::memset(blocks[i], i, 16);
    }
    int generation = 0;
    while (generation < 20) {
        const pid_t id = fork();
        CHECK(id >= 0);
        if (id != 0) {
            int status = 0;
            CHECK(waitpid(id, &status, 0) == id && status == 0);
            break;
        }
        ++generation;
        for (int i = generation; i < count; i += 20) {
            CHECK(blocks[i][15] == static_cast<char>(i));
            free(blocks[i]);
            blocks[i] = static_cast<char *>(calloc(1, 100));
            CHECK(blocks[i][99] == 0);
        }
    }
    free_all(blocks);
    _exit(0);
}
