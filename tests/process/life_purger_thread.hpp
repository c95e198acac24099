// SPDX-License-Identifier: MIT
//
// Purger's thread: what the tests of it share.
#pragma once

#include "process_test.hpp"

#include <dirent.h>

namespace process_test {

/// The number of the thread of that name; 0 if there is none.
inline pid_t thread_named(const char *name) {
    pid_t found = 0;
    DIR *const tasks = opendir("/proc/self/task");
    CHECK(tasks != nullptr);
    while (const dirent *const task = readdir(tasks)) {
        char path[64];
        char text[64] = "";
        std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        // None where the thread has ended since readdir.
        const int fd = task->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            const bool is_read = read(fd, text, sizeof text - 1) > 0;
            found =
                is_read && std::strncmp(text, name, std::strlen(name)) == 0 ? std::atoi(task->d_name) : found;
            close(fd);
        }
    }
    closedir(tasks);
    return found;
}

/// How often the purger has gone to sleep.
inline std::size_t sleeps_of_purger() {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/status", thread_named("cairn-purge"));
    return proc_bytes(path, "\nvoluntary_ctxt_switches:") / KiB;
}

/// So much memory, in blocks that a process with a purger gives back when they are free.
class Burst {
public:
    void grow_to(std::size_t bytes) {
        while (count_ * length < bytes) {
            CHECK(count_ < sizeof blocks_ / sizeof *blocks_);
            char *const p = static_cast<char *>(malloc(length));
            CHECK(p != nullptr);
            std::memset(p, 1, length);
            blocks_[count_++] = p;
        }
    }
    void free_all() {
        while (count_ != 0) {
            free(blocks_[--count_]);
        }
    }

private:
    static constexpr std::size_t length = 100000;
    char *blocks_[4000];
    std::size_t count_ = 0;
};

} // namespace process_test
