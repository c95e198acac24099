// SPDX-License-Identifier: MIT
//
// A thread that runs before all others makes the process so large that the purger's thread is made: that one has no
// such priority. Where nobody may have one there is nothing to look at.
#include "life_purger_thread.hpp"

#include <sched.h>

using namespace process_test;

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
