// SPDX-License-Identifier: MIT
//
// First-class heaps: the memory of one that is destroyed goes back within a second, without further calls, and though
// no other block was allocated.
// link: so
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    CHECK(heap != nullptr);
    const std::size_t before = resident();
    for (std::size_t bytes = 0; bytes < 120 * MiB; bytes += 3 * KiB) {
        void *const p = cairn_heap_alloc(heap, 3 * KiB);
        CHECK(p != nullptr);
        std::memset(p, 1, 3 * KiB);
    }
    CHECK(resident() > before + 110 * MiB);
    sleep_seconds(1.5); // nothing lies free: nobody looks any more
    cairn_heap_destroy(heap);
    const std::size_t most = before + 32 * MiB;
    CHECK(bytes_after_a_second(resident, most) <= most);
}
