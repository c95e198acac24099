// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*not the start of .* size class 64 that .*\n$
//
// The second half of a block.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64));
    announce(p + 32);
    free(opaque(p + 32));
}
