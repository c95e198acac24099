// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// Allocated by one thread, freed by a second, and freed again by a third.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *const p = malloc(64);
    void *const keep = malloc(64);
    announce(p);
    in_thread([&] { free(p); });
    in_thread([&] { free(opaque(p)); });
    free(keep);
}
