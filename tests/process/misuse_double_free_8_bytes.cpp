// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 8\n$
//
// The smallest block has room for nothing but the link.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const keep = malloc(8);
    void *const p = malloc(1);
    announce(p);
    free(p);
    free(opaque(p));
    free(keep);
}
