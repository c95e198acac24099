// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// A block that is ready to be handed out and never was.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64));
    announce(p + 64);
    free(opaque(p + 64));
}
