// SPDX-License-Identifier: MIT
// expect-death: ^cairn: heap corruption: free block [^\n]*\nfirst handler\n$
//
// A handler of SIGABRT that runs into the same mistake ends the program at once, by SIGABRT: it is not called for ever.
// One that is left by siglongjmp is called again.
#include "process_test.hpp"

#include <csetjmp>
#include <csignal>

using namespace process_test;

namespace {

sigjmp_buf back;
volatile sig_atomic_t calls = 0;

void leaves(int) {
    calls = calls + 1;
    siglongjmp(back, 1);
}

void allocates(int) {
    const char text[] = "first handler\n";
    CHECK(write(2, text, sizeof text - 1) > 0);
    for (int i = 0; i < 1000; ++i) {
        opaque(malloc(64));
    }
    _exit(2);
}

} // namespace

int main() {
    const int saved = dup(2);
    const int nowhere = open("/dev/null", O_WRONLY);
    CHECK(dup2(nowhere, 2) == 2);
    CHECK(signal(SIGABRT, leaves) != SIG_ERR);
    while (calls < 3) {
        if (sigsetjmp(back, 1) == 0) {
            int local = 0;
            free(opaque(&local));
        }
    }
    CHECK(dup2(saved, 2) == 2);
    CHECK(signal(SIGABRT, allocates) != SIG_ERR);
    auto *const p = static_cast<std::uint64_t *>(malloc(64));
    free(p);
    *opaque(p) = 42;
    opaque(malloc(64));
}
