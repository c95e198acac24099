// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// A block that is a mapping of its own.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(64 * MiB);
    announce(p);
    free(p);
    free(opaque(p));
}
