// SPDX-License-Identifier: MIT
// link: static
//
// A static program that looks functions up finds no error that the library has made at load.
#include "process_test.hpp"

#include <dlfcn.h>

int main() {
    free(malloc(100));
    CHECK(dlerror() == nullptr);
    CHECK(dlsym(RTLD_DEFAULT, "no such function") == nullptr && dlerror() != nullptr);
}
