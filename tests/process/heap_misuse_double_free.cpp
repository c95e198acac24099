// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: a block freed twice.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: double free: cairn_heap_free of \1, a free block of size class 112
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    void *const p = cairn_heap_alloc(heap, 100);
    void *const kept = cairn_heap_alloc(heap, 100);
    announce(p);
    cairn_heap_free(heap, p);
    cairn_heap_free(heap, opaque(p));
    cairn_heap_free(heap, kept);
}
