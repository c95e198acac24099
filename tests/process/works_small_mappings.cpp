// SPDX-License-Identifier: MIT
//
// Where the kernel grants no mapping of more than 8 MiB, as with overcommit mode 2 near its limit: no larger one
// is depended upon. Small and large blocks go on; what is larger than a mapping can be is NULL and ENOMEM.
#include "works_filter.hpp"

using namespace process_test;

static void work() {
    static void *blocks[100000];
    for (void *&p : blocks) {
        const std::size_t size = 1 + static_cast<std::size_t>(&p - blocks) % 400;
        p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
    }
    for (std::size_t size = 1000; size < MiB; size += size / 3) {
        void *const p = malloc(size);
        CHECK(p != nullptr);
        std::memset(p, 1, size);
        free(p);
    }
    errno = 0;
    CHECK(malloc(40 * MiB) == nullptr && errno == ENOMEM);
    void *const smaller = malloc(300 * KiB);
    CHECK(smaller != nullptr);
    free(smaller);
    free_all(blocks);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        work();
        return 0;
    }
    Filter().deny_above(SYS_mmap, 1, 8 * MiB, ENOMEM).install();
    execl("/proc/self/exe", argv[0], "inside", nullptr);
    return 126;
}
