// SPDX-License-Identifier: MIT
// expect-death: ^$
//
// Nobody reads stderr: the program still ends by SIGABRT, which leaves a core file, and not by SIGPIPE, which leaves
// none.
#include "process_test.hpp"

using namespace process_test;

int main() {
    int ends[2];
    CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[0]) == 0);
    void *const p = malloc(60);
    free(p);
    free(opaque(p));
}
