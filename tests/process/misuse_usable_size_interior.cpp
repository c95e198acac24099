// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: size asked of \1, .*not the start of .* size class 64 that .*\n$
//
// malloc_usable_size of the second half of a block.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64)) + 32;
    announce(p);
    return malloc_usable_size(opaque(p)) != 0;
}
