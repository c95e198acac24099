// SPDX-License-Identifier: MIT
// link: static
//
// operator new throws std::bad_alloc in a static program, of which the C++ runtime's own function that throws it is no
// part.
#include "process_test.hpp"

#include <new>

using namespace process_test;

int main() {
    bool caught = false;
    try {
        ::operator delete(::operator new(opaque(std::size_t{PTRDIFF_MAX})));
    } catch (const std::bad_alloc &error) {
        caught = std::strcmp(error.what(), "std::bad_alloc") == 0;
    }
    CHECK(caught);
}
