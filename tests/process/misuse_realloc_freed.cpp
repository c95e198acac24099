// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: (?:realloc|size asked) of \1, a free block of size class 64\n$
//
// realloc of a block that was freed.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(64);
    announce(p);
    free(p);
    opaque(realloc(opaque(p), 128));
}
