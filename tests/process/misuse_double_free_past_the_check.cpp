// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free or heap corruption: .* \(size class 64\) .* one is \1\n$
//
// What a race of two frees comes to when both get past the check of the block: it is in the list twice. The
// mark is wiped between the two to bring that about every time.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<std::uint64_t *>(malloc(64));
    announce(p);
    in_thread([&] {
        free(p);
        *opaque(p) = 0;
        free(opaque(p));
    });
    for (int i = 0; i < 2048; ++i) {
        opaque(malloc(64));
    }
}
