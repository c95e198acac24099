// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// An address of user space where nothing is, nor was.
#include "process_test.hpp"

using namespace process_test;

int main() {
    // A third of the way up: the heap is at its top, the program near its bottom or its top.
    const auto p = reinterpret_cast<void *>(opaque(std::uintptr_t{0x2aaa'5555'0040}));
    announce(p);
    free(p);
}
