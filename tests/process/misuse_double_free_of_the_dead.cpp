// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// Both frees come after the end of the thread that allocated.
#include "process_test.hpp"

using namespace process_test;

int main() {
    void *p = nullptr;
    void *keep = nullptr;
    in_thread([&] {
        keep = malloc(64);
        p = malloc(64);
    });
    announce(p);
    free(p);
    free(opaque(p));
    free(keep);
}
