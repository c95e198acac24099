// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: an address inside a long block.
// link: so
// expect-death: (0x[0-9a-f]+)\ncairn: invalid pointer: cairn_heap_free of \1, which is no block of this heap
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    auto *const p = static_cast<char *>(cairn_heap_alloc(heap, 1 * MiB)) + 64 * KiB;
    announce(p);
    cairn_heap_free(heap, opaque(p));
}
