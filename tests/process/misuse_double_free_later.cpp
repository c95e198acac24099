// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// The second free comes after many other blocks were freed behind the first one.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *blocks[100];
    for (void *&p : blocks) {
        p = malloc(64);
    }
    announce(blocks[7]);
    free_all(blocks);
    free(opaque(blocks[7]));
}
