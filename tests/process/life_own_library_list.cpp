// SPDX-License-Identifier: MIT
//
// A program may have a dl_iterate_phdr of its own that needs its constructors, as one with ThreadSanitizer has:
// the library, which is loaded before them, does not call it.
#include "process_test.hpp"

#include <link.h>

using namespace process_test;

static bool constructed;

[[gnu::constructor]] static void construct() {
    constructed = true;
}

extern "C" int dl_iterate_phdr(int (*)(dl_phdr_info *, std::size_t, void *), void *) {
    CHECK(constructed);
    return 0;
}

int main() {
    free(malloc(100));
    CHECK(constructed && dl_iterate_phdr(nullptr, nullptr) == 0);
}
