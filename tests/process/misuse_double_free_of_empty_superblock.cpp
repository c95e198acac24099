// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// The first free emptied a superblock of the global heap, which is to be cut anew by the second one.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *p = nullptr;
    in_thread([&] { p = malloc(64); });
    announce(p);
    free(p);
    free(opaque(p));
}
