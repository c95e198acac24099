// SPDX-License-Identifier: MIT
//
// Memory that is not used stays as long as purge_delay says, however long that is: the clock of this process is its
// own.
// env: CAIRN_OPTIONS=purge_delay:1000s,background:off
#include "memory_fill.hpp"

#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

using namespace process_test;

namespace {
std::time_t ahead = 0;
}

/// In place of the C library's.
extern "C" int own_clock(clockid_t clock, timespec *now) asm("clock_gettime");
extern "C" [[gnu::used]] int own_clock(clockid_t clock, timespec *now) {
    const long result = syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += ahead;
    return static_cast<int>(result);
}

namespace {

/// Without a thread of the allocator's the program's calls look at the clock.
void pass(std::time_t seconds, int times) {
    for (int i = 0; i < times; ++i) {
        ahead += seconds;
        use_in_turn();
    }
}

} // namespace

int main() {
    const std::size_t before = resident();
    use_and_free(60 * MiB);
    pass(100, 4);
    CHECK(resident() > before + 50 * MiB);
    pass(500, 3);
    CHECK(resident() < before + 10 * MiB);
}
