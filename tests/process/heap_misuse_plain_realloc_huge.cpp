// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: a block with a mapping of its own given to realloc.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: invalid pointer: size asked of \1, .*or is a cairn_heap's
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    void *const p = cairn_heap_alloc(heap, 40 * MiB);
    announce(p);
    opaque(std::realloc(opaque(p), 80 * MiB));
}
