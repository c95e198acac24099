// SPDX-License-Identifier: MIT
//
// A thread that runs before all others makes the process so large that the purger's thread is made: that one has no such priority.
// Where nobody may have one there is nothing to look at.
#include "process_test.hpp"

#include <dirent.h>
#include <sched.h>

using namespace process_test;

namespace {

/// The number of the thread of that name; 0 if there is none.
pid_t thread_named(const char *name) {
    pid_t found = 0;
    DIR *const tasks = opendir("/proc/self/task");
    CHECK(tasks != nullptr);
    while (const dirent *const task = readdir(tasks)) {
        char path[64];
        char text[64] = "";
        std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        if (task->d_name[0] != '.' && read_proc(path, text, sizeof text) != 0 &&
            std::strncmp(text, name, std::strlen(name)) == 0) {
            found = std::atoi(task->d_name);
        }
    }
    closedir(tasks);
    return found;
}

} // namespace

int main() {
    sched_param first{};
    first.sched_priority = sched_get_priority_min(SCHED_FIFO);
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
        return 0;
    }
    for (int i = 0; i < 100; ++i) {
        char *const p = static_cast<char *>(malloc(600 * KiB));
        std::memset(p, 1, 600 * KiB);
    }
    pid_t purger = 0;
    for (int i = 0; i < 100 && (purger == 0 || sched_getscheduler(purger) != SCHED_OTHER); ++i) {
        sleep_seconds(0.02);
        purger = thread_named("cairn-purge");
    }
    CHECK(purger != 0 && sched_getscheduler(purger) == SCHED_OTHER);
    CHECK(sched_getscheduler(0) == SCHED_FIFO);
}
