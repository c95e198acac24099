// SPDX-License-Identifier: MIT
//
// The purger's thread cannot be made when the process has grown so far that it should be, for the while that a limit
// holds: it is when the process has grown further, and gives the memory back.
// link: so
#include "life_purger_thread.hpp"

#include <dlfcn.h>

#include <cerrno>

using namespace process_test;

static Burst burst;
static bool at_the_limit = true;
static int refused = 0;

/// Also the library's: the program comes before libc.
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                              void *argument) noexcept {
    if (at_the_limit) {
        ++refused;
        return EAGAIN;
    }
    const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return next(thread, attributes, function, argument);
}

int main() {
    burst.grow_to(30 * MiB);
    dprintf(1, "refused %d times\n", refused);
    CHECK(refused == 1); // not at each growth
    at_the_limit = false;
    burst.grow_to(300 * MiB);
    burst.free_all();
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%.1f MiB\n", mebibytes(after));
    CHECK(after <= 32 * MiB);
}
