// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 4096\n$
//
// A block of 4 KiB is carved alone: it is the only one in its free list, whose link is the end mark.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(4096);
    announce(p);
    free(p);
    free(opaque(p));
}
