// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*not the start of .* size class 21568 that .*\n$
//
// A later slot of a superblock of several slots, inside a block.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(20000));
    announce(p + 4096);
    free(opaque(p + 4096));
}
