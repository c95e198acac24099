// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: a long block given to realloc.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: invalid pointer: realloc of \1, which is a cairn_heap's
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    void *const p = cairn_heap_alloc(heap, 1 * MiB);
    announce(p);
    opaque(std::realloc(opaque(p), 2 * MiB));
}
