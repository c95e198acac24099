// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: (?:realloc|size asked) of \1, .*\n$
//
// A huge block is given a new size after it was freed.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(40 * MiB);
    announce(p);
    free(p);
    opaque(realloc(opaque(p), 50 * MiB));
}
