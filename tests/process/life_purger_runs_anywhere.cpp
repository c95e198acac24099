// SPDX-License-Identifier: MIT
//
// A thread that is bound to one processor makes the process so large that the purger's thread is made: that one runs
// wherever the first thread may. Where there is one processor there is nothing to look at.
#include "life_purger_thread.hpp"

#include <sched.h>

using namespace process_test;

static Burst burst;

int main() {
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) == 1) {
        return 0;
    }
    in_threads(1, [&](unsigned) {
        int first = 0;
        while (!CPU_ISSET(first, &all)) {
            ++first;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        burst.grow_to(60 * MiB);
    });
    bool same = false;
    for (int i = 0; i < 100 && !same; ++i) {
        sleep_seconds(0.02);
        const pid_t purger = thread_named("cairn-purge");
        cpu_set_t its;
        same = purger != 0 && sched_getaffinity(purger, sizeof its, &its) == 0 && CPU_EQUAL(&its, &all);
    }
    CHECK(same);
}
