// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: invalid pointer: free of \1, .*which is not in this heap\n$
//
// A block of the C library's own malloc, which is still there behind the one that took its place.
#include "process_test.hpp"

#include <dlfcn.h>

using namespace process_test;

int main() {
    void *const libc = dlopen("libc.so.6", RTLD_LAZY);
    CHECK(libc != nullptr);
    void *const found = dlsym(libc, "malloc");
    void *(*theirs)(std::size_t) = nullptr;
    std::memcpy(&theirs, &found, sizeof theirs);
    CHECK(theirs != nullptr && theirs != malloc);
    void *const p = theirs(100);
    announce(p);
    free(p);
}
