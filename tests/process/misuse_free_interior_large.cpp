// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is inside a large block, not its start, or is a cairn_heap.s\n$
//
// Inside a block that is a run of its own, at the start of one of its slots.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(MiB));
    announce(p + 64 * KiB);
    free(opaque(p + 64 * KiB));
}
