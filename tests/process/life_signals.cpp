// SPDX-License-Identifier: MIT
//
// Signals interrupt malloc and free thousands of times, in the program's thread and in system calls; handlers
// that do not allocate change nothing.
#include "process_test.hpp"

#include <csignal>
#include <sys/time.h>

using namespace process_test;

static volatile std::sig_atomic_t signals;

int main() {
    struct sigaction action{};
    action.sa_handler = [](int) { signals = signals + 1; };
    CHECK(sigaction(SIGALRM, &action, nullptr) == 0); // without SA_RESTART: system calls are interrupted
    const itimerval often{{0, 200}, {0, 200}};
    CHECK(setitimer(ITIMER_REAL, &often, nullptr) == 0);
    static unsigned char *blocks[2000];
    static std::size_t sizes[2000];
    constexpr int enough = 100;
    const double until = seconds() + 1.0;
    for (Random random(1); seconds() < until || (signals <= enough && seconds() < until + hang_limit);) {
        for (int n = 0; n < 1000; ++n) {
            const std::size_t i = random.below(2000);
            if (blocks[i] != nullptr) {
                CHECK(blocks[i][0] == i % 256 && blocks[i][sizes[i] - 1] == i % 256);
                free(blocks[i]);
            }
            sizes[i] = 1 + random.below(random.below(50) == 0 ? 200000 : 2000);
            blocks[i] = static_cast<unsigned char *>(malloc(sizes[i]));
            CHECK(blocks[i] != nullptr);
            blocks[i][0] = blocks[i][sizes[i] - 1] = static_cast<unsigned char>(i % 256);
        }
    }
    dprintf(1, "%d signals\n", static_cast<int>(signals));
    CHECK(signals > enough);
}
