// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: size asked of \1, a free block of size class 64\n$
//
// malloc_usable_size of a block that was freed.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    void *const p = malloc(64);
    announce(p);
    free(p);
    opaque(malloc_usable_size(opaque(p)));
}
