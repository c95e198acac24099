// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: heap corruption: free block \1 of size class 21568 was written to after .*\n$
//
// The same for a size that only the slow path serves.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<std::uint64_t *>(malloc(20000));
    announce(p);
    free(p);
    *opaque(p) = 42;
    opaque(malloc(20000));
}
