// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 21568\n$
//
// A block of a superblock of several slots.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(20000);
    announce(p);
    free(p);
    free(opaque(p));
}
