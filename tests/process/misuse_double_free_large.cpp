// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is in free memory: freed twice, .*\n$
//
// A block that is a run of its own.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(MiB);
    announce(p);
    free(p);
    free(opaque(p));
}
