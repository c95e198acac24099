// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: a destroyed heap.
// link: so
// expect-death: cairn_heap_destroy of 0x[0-9a-f]+, which is no heap, or a destroyed one
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    cairn_heap_destroy(heap);
    cairn_heap_destroy(opaque(heap));
}
