// SPDX-License-Identifier: MIT
// ulimit-v: 131072
//
// A new-handler that throws: the nothrow forms of operator new turn the exception into nullptr.
#include "process_test.hpp"

#include <new>

using namespace process_test;

static void throw_from_handler() {
    throw std::bad_alloc();
}

int main() {
    std::set_new_handler(throw_from_handler);
    CHECK(::operator new(GiB, std::nothrow) == nullptr);
    CHECK(::operator new(GiB, std::align_val_t{64}, std::nothrow) == nullptr);
}
