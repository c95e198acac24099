// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// A page that the program mapped itself.
#include "process_test.hpp"

#include <sys/mman.h>

using namespace process_test;

int main() {
    free(malloc(1));
    void *const p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    announce(p);
    free(opaque(p));
}
