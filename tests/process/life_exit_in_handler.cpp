// SPDX-License-Identifier: MIT
//
// A handler ends the process by exit(3) wherever it has interrupted malloc: the report that was asked for waits for no
// lock for ever, since the thread that holds it is its own; nor where the clock stands still.
// env: CAIRN_STATS=1
#include "process_test.hpp"

#include <csignal>
#include <sys/time.h>

using namespace process_test;

/// As under libfaketime.
extern "C" int clock_gettime(clockid_t, timespec *now) {
    *now = {1000, 0};
    return 0;
}

namespace {

void on_signal(int) {
    exit(0);
}

/// What takes locks: large and huge blocks, and superblocks that come and go.
[[noreturn]] void work(unsigned seed) {
    Random random(seed);
    void *kept[40] = {};
    for (;;) {
        void *&p = kept[random.below(40)];
        free(p);
        const std::size_t kind = random.below(10);
        p = malloc(kind < 4   ? 20 * KiB + random.below(40 * KiB)
                   : kind < 9 ? 300 * KiB + random.below(MiB)
                              : 17 * MiB);
        CHECK(p != nullptr);
    }
}

} // namespace

int main() {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(nowhere >= 0);
    for (unsigned i = 0; i < 60; ++i) {
        in_child([&] {
            alarm(hang_limit / 5);
            CHECK(dup2(nowhere, 2) == 2); // the reports
            CHECK(std::signal(SIGPROF, on_signal) != SIG_ERR);
            const itimerval soon{{0, 0}, {0, 2000 + static_cast<suseconds_t>(i) * 47}}; // of processor time
            CHECK(setitimer(ITIMER_PROF, &soon, nullptr) == 0);
            work(i);
        });
    }
}
