// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: size asked of \1, .*which is not in this heap\n$
//
// malloc_usable_size, of the first address of the kernel's half.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    free(malloc(1));
    const auto p = reinterpret_cast<void *>(opaque(std::uintptr_t{1} << 63));
    announce(p);
    opaque(malloc_usable_size(p));
}
