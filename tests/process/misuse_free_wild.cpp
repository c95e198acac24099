// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// An address that no user space has.
#include "process_test.hpp"

using namespace process_test;

int main() {
    free(malloc(1));
    const auto p = reinterpret_cast<void *>(opaque(std::uintptr_t{0xdeadbeefdeadbee0}));
    announce(p);
    free(p);
}
