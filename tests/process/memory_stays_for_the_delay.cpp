// SPDX-License-Identifier: MIT
//
// Memory that is not used stays as long as purge_delay says, however long that is: the clock of this process is its own.
// env: CAIRN_OPTIONS=purge_delay:1000s,background:off
#include "process_test.hpp"

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

void use_and_free(std::size_t bytes) {
    constexpr std::size_t size = 1 * MiB;
    static void *blocks[64];
    const std::size_t count = bytes / size;
    for (std::size_t i = 0; i < count; ++i) {
        std::memset(blocks[i] = std::malloc(size), 1, size);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::free(blocks[i]);
    }
}

/// As often as blocks that are allocated and freed in turn may come without one that looks at the clock.
void use_in_turn() {
    for (int i = 0; i < 8; ++i) {
        use_and_free(1 * MiB);
    }
}

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
