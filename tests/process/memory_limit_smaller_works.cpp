// SPDX-License-Identifier: MIT
// ulimit-v: 65536
//
// A request that is too large for what is left leaves the heap as it was: the next smaller one works, down to
// the smallest, one after the other.
#include "process_test.hpp"

#include <cerrno>

using namespace process_test;

int main() {
    std::size_t got = 0;
    std::size_t refusals = 0;
    for (std::size_t size = GiB; size >= 64 * KiB; size /= 2) {
        while (void *p = malloc(size)) {
            std::memset(p, 1, 64);
            got += size;
        }
        CHECK(errno == ENOMEM);
        ++refusals;
        errno = 0;
    }
    // More than half of the address space was there to be had, for all the refusals on the way.
    dprintf(1, "%zu MiB after %zu refusals\n", got / MiB, refusals);
    CHECK(got > 32 * MiB);
}
