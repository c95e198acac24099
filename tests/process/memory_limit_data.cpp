// SPDX-License-Identifier: MIT
//
// Under a limit on data (`ulimit -d`, which counts private writable mappings, as the commit charge of overcommit mode 2
// does) a huge block that has to move because it grows needs room for what it grows by, not for both places.
#include "process_test.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

using namespace process_test;

int main() {
    constexpr std::size_t before = 150 * MiB;
    constexpr std::size_t after = 200 * MiB;
    auto *const first = static_cast<unsigned char *>(malloc(before));
    CHECK(first != nullptr);
    std::memset(first, 7, before);
    // Something behind it: it cannot grow in place.
    unsigned char *const end = first + malloc_usable_size(first);
    mmap(end, 4 * KiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    const std::size_t now = proc_bytes("/proc/self/status", "VmData:");
    const rlimit limit{now + (after - before) + 8 * MiB, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    CHECK(malloc(after) == nullptr);
    auto *const grown = static_cast<unsigned char *>(realloc(first, after));
    CHECK(grown != nullptr && grown != first);
    CHECK(grown[0] == 7 && grown[before - 1] == 7 && grown[before] == 0);
    std::memset(grown, 8, after);
    CHECK(realloc(grown, 2 * after) == nullptr && grown[0] == 8 && grown[after - 1] == 8);
    free(grown);
    free(malloc(after));
}
