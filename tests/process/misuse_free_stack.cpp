// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// A variable of the stack.
#include "process_test.hpp"

using namespace process_test;

int main() {
    char variable[64];
    free(malloc(1));
    announce(variable);
    free(opaque(static_cast<void *>(variable)));
}
