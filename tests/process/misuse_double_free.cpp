// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// Two frees in a row, by the thread that allocated.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(60);
    announce(p);
    free(p);
    free(opaque(p));
}
