// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// Inside a block that is a mapping of its own, in a window behind its first.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(128 * MiB));
    announce(p + 64 * MiB);
    free(opaque(p + 64 * MiB));
}
