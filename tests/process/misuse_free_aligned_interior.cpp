// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*not the start of .*\n$
//
// What lies behind an aligned block's start, by a program that keeps a header there.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(aligned_alloc(256, 1024)) + 16;
    announce(p);
    free(opaque(p));
}
