// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// The same as the program's first call: the heap has nothing yet.
#include "process_test.hpp"

using namespace process_test;

int main() {
    static char variable[64];
    announce(variable);
    free(opaque(static_cast<void *>(variable)));
}
