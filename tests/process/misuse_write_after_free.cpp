// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: heap corruption: free block \1 of size class 64 was written to after .*\n$
//
// A write to a freed block destroys its link; the next malloc that would hand it out finds it.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<std::uint64_t *>(malloc(64));
    announce(p);
    free(p);
    *opaque(p) = 42;
    opaque(malloc(64));
}
