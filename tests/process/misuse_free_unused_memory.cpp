// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is in free memory: freed twice, .*\n$
//
// The last slot that may be used yet in the window that a block lies in, of which nothing was handed out.
#include "process_test.hpp"

using namespace process_test;

int main() {
    const auto window = reinterpret_cast<std::uintptr_t>(malloc(64)) / (32 * MiB) * (32 * MiB);
    const auto p = reinterpret_cast<void *>(window + 2 * MiB - 64);
    announce(p);
    free(opaque(p));
}
