// SPDX-License-Identifier: MIT
//
// First-class heaps at a limit: what malloc's blocks have left is given up for a heap's, also where all memory is
// locked, so that nothing of it goes back to the system.
// link: so
// ulimit-v: 131072
// env: CAIRN_OPTIONS=purge_delay:never
#include "process_test.hpp"

#include <cairn/cairn.h>

#include <sys/mman.h>

using namespace process_test;

int main() {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        dprintf(1, "this process may not lock its memory\n");
        return 0;
    }
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    constexpr std::size_t size = 3 * KiB;
    void **last = nullptr;
    std::size_t live = 0;
    while (auto *const p = static_cast<void **>(std::malloc(size))) {
        *p = last;
        last = p;
        live += size;
    }
    CHECK(live > 32 * MiB);
    while (last != nullptr) {
        void **const before = static_cast<void **>(*last);
        std::free(last);
        last = before;
    }
    std::size_t got = 0;
    while (cairn_heap_alloc(heap, size) != nullptr) {
        got += size;
    }
    dprintf(1, "%zu MiB of malloc's, then %zu MiB of the heap's\n", live / MiB, got / MiB);
    CHECK(got > live / 5 * 4);
    cairn_heap_destroy(heap);
}
