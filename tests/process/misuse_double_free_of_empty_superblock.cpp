// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is in free memory: freed twice, .*\n$
//
// The first free emptied a superblock of the global heap: it is a free run by the second one.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *p = nullptr;
    in_thread([&] { p = malloc(64); });
    announce(p);
    free(p);
    free(opaque(p));
}
