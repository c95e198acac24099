// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: (?:realloc|size asked) of \1, .*which is not in this heap\n$
//
// realloc of a variable of the stack.
#include "process_test.hpp"

using namespace process_test;

int main() {
    char variable[64];
    free(malloc(1));
    announce(variable);
    opaque(realloc(opaque(static_cast<void *>(variable)), 128));
}
