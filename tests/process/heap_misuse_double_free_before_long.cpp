// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: a small block freed twice, whose place the heap itself has taken for its note of a long
// block.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: invalid pointer: cairn_heap_free of \1, which is no block of this heap
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    void *const p = cairn_heap_alloc(heap, 16);
    cairn_heap_free(heap, p);
    void *const last = cairn_heap_alloc(heap, 1 * MiB);
    announce(p);
    cairn_heap_free(heap, opaque(p));
    cairn_heap_free(heap, last);
}
