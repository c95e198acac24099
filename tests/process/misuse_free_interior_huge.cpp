// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is free already or inside a block, or is a cairn_heap's\n$
//
// Inside a block that is a mapping of its own.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64 * MiB));
    announce(p + 4096);
    free(opaque(p + 4096));
}
