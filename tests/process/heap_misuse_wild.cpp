// SPDX-License-Identifier: MIT
//
// First-class heaps, misuse: an address that nobody has.
// link: so
// expect-death: invalid pointer: cairn_heap_free of 0x4242424242424240, which is no block of this heap
#include "process_test.hpp"

#include <cairn/cairn.h>

using namespace process_test;

int main() {
    cairn_heap *const heap = cairn_heap_create();
    cairn_heap_free(heap, reinterpret_cast<void *>(opaque(std::uintptr_t{0x4242424242424240})));
}
