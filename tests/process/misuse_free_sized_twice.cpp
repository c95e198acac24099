// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// C23's free_sized is checked as free is.
#include "process_test.hpp"

#include <dlfcn.h>

using namespace process_test;

int main() {
    auto *const free_sized =
        reinterpret_cast<void (*)(void *, std::size_t)>(dlsym(RTLD_DEFAULT, "free_sized"));
    CHECK(free_sized != nullptr);
    void *const p = malloc(64);
    announce(p);
    free_sized(p, 64);
    free_sized(opaque(p), 64);
}
