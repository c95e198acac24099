// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, where no block is.*\n$
//
// The end of the window that a block lies in, which is reserved and not to be used yet.
#include "process_test.hpp"

using namespace process_test;

int main() {
    const auto window = reinterpret_cast<std::uintptr_t>(malloc(64)) / (32 * MiB) * (32 * MiB);
    const auto p = reinterpret_cast<void *>(window + 32 * MiB - 64 * KiB - 64);
    announce(p);
    free(opaque(p));
}
