// SPDX-License-Identifier: MIT
//
// A child of vfork has the memory of its parent until it ends or loads another program. If it is the one who makes the
// process so large that there should be a purger, the parent makes it later, and what the child has allocated goes back
// as well.
#include "life_purger_thread.hpp"

#include <sys/wait.h>

using namespace process_test;

static Burst burst;

int main() {
    burst.grow_to(12 * MiB);
    const pid_t child = vfork();
    if (child == 0) {
        burst.grow_to(40 * MiB);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    burst.grow_to(300 * MiB);
    burst.free_all();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB\n", mebibytes(after));
    CHECK(after <= 32 * MiB);
    CHECK(thread_named("cairn-purge") != 0);
}
