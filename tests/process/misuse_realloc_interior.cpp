// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: (?:realloc|size asked) of \1, .*not the start of .* size class 64 that .*\n$
//
// realloc of the second half of a block, to a size that the block has room for.
#include "process_test.hpp"

using namespace process_test;

int main() {
    auto *const p = static_cast<char *>(malloc(64)) + 32;
    announce(p);
    opaque(realloc(opaque(p), 40));
}
