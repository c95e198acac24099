// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: size asked of \1, which is inside a huge block, not its start, or is a cairn_heap's\n$
//
// malloc_usable_size of the middle of a huge block.
#include "process_test.hpp"

#include <malloc.h>

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(40 * MiB)) + MiB;
    announce(p);
    return malloc_usable_size(opaque(p)) != 0;
}
