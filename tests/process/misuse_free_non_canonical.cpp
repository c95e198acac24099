// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// The address of a live block with a bit above those that an address has.
#include "process_test.hpp"

using namespace process_test;

int main() {
    const auto p = reinterpret_cast<std::uintptr_t>(malloc(64)) | std::uintptr_t{1} << 56;
    announce(reinterpret_cast<void *>(p));
    free(reinterpret_cast<void *>(opaque(p)));
}
