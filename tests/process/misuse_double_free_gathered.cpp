// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// Another thread frees some in a row, which wait together to be given back, and one of them again.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const first = malloc(64);
    void *const p = malloc(64);
    void *const last = malloc(64);
    announce(p);
    in_thread([&] {
        free(first);
        free(p);
        free(last);
        free(opaque(p));
    });
}
