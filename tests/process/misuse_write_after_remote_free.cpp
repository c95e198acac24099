// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: heap corruption: free block \1 of size class 64 was written to after .*\n$
//
// A write to a block that another thread freed.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<std::uint64_t *>(malloc(64));
    announce(p);
    in_thread([&] { free(p); });
    *opaque(p) = 42;
    for (int i = 0; i < 2048; ++i) {
        opaque(malloc(64));
    }
}
