// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: heap corruption: free block \1 of size class 64 was written to .*, or freed twice\n$
//
// What a race of two frees comes to when both get past the check of the block: it is in the list twice, which is a
// ring. The mark is wiped between the two to bring that about every time. It is handed out once.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<std::uint64_t *>(malloc(64));
    for (int i = 0; i < 100; ++i) {
        opaque(malloc(64));
    }
    announce(p);
    in_thread([&] {
        free(p);
        *opaque(p) = 0;
        free(opaque(p));
    });
    int times = 0;
    for (int i = 0; i < 2048; ++i) {
        times += opaque(malloc(64)) == p;
        if (times > 1) {
            return 1;
        }
    }
}
