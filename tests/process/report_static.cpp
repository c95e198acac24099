// SPDX-License-Identifier: MIT
//
// A program that is linked with libcairn.a and calls nothing of Cairn has what the library does at its load and
// at its end as well: here the report.
// link: a
#include "process_test.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

using namespace process_test;

int main(int count, char **) {
    if (count > 1) {
        return 0;
    }
    char folder[] = "/tmp/cairn-static.XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        char request[64];
        std::snprintf(request, sizeof request, "CAIRN_STATS=json:%s/%%p.json", folder);
        char program[] = "again";
        char word[] = "end";
        char *words[] = {program, word, nullptr};
        char *variables[] = {request, nullptr};
        execve("/proc/self/exe", words, variables);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char file[64];
    std::snprintf(file, sizeof file, "%s/%d.json", folder, static_cast<int>(pid));
    struct stat about{};
    const bool there = stat(file, &about) == 0 && about.st_size > 100;
    unlink(file);
    rmdir(folder);
    CHECK(there);
}
