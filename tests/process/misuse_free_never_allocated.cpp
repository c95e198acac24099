// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*not the start of .* size class 64 that .*\n$
//
// The last block of a superblock whose first ones only were ever handed out.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64));
    const std::uintptr_t superblock = reinterpret_cast<std::uintptr_t>(p) / (64 * KiB) * (64 * KiB);
    const auto last = reinterpret_cast<void *>(superblock + 64 * KiB - 64);
    announce(last);
    free(opaque(last));
}
