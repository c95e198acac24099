// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: the only block of a superblock freed twice.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: (double free|invalid pointer): cairn_heap_free of \1,
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    for (int i = 0; i < 1000; ++i) { // so that it is not in the superblock that the class allocates from
        cairn_heap_alloc(heap, 8000);
    }
    void *const p = cairn_heap_alloc(heap, 60000);
    announce(p);
    cairn_heap_free(heap, p);
    cairn_heap_free(heap, opaque(p));
}
